package org.holdfast.flink.cluster;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Bids of an auction house in the manner of NEXMark, to and from Kafka. A bid is the text `auction price milliseconds`; a few
 * auctions are hot.
 *
 * <p>Bids produce SERVERS TOPIC PARTITIONS COUNT PER-SECOND SEED: 1,000 bids a second of event time, and behind them one far
 * later per partition, which ends all windows. Bids dump SERVERS TOPIC: all that is committed, a line each.
 */
public final class Bids {
  private static final int AUCTIONS = 1000;
  private static final int HOT = 10;
  private static final long AN_HOUR_MS = 3_600_000;

  private Bids() {}

  public static void main(String[] words) throws Exception {
    if (words[0].equals("dump")) dump(words[1], words[2]);
    else {
      produce(
          words[1],
          words[2],
          Integer.parseInt(words[3]),
          Integer.parseInt(words[4]),
          Integer.parseInt(words[5]),
          Long.parseLong(words[6]));
    }
  }

  private static void produce(
      String servers, String topic, int partitions, int count, int perSecond, long seed)
      throws InterruptedException {
    final Properties settings = new Properties();
    settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
    settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
    settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
    settings.put(ProducerConfig.LINGER_MS_CONFIG, "5");
    final Random random = new Random(seed);
    final long begin = System.nanoTime();
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
      for (int i = 0; i < count + partitions; ++i) {
        final int auction =
            random.nextInt(2) == 0 ? random.nextInt(HOT) : HOT + random.nextInt(AUCTIONS - HOT);
        final long time = i < count ? i : count + AN_HOUR_MS;
        final String bid = auction + " " + (1 + random.nextInt(1000)) + " " + time;
        producer.send(
            new ProducerRecord<>(
                topic, i % partitions, null, bid.getBytes(StandardCharsets.UTF_8)));
        final long due = i * 1_000_000_000L / perSecond - (System.nanoTime() - begin);
        if (due > 1_000_000) Thread.sleep(due / 1_000_000);
      }
    }
  }

  private static void dump(String servers, String topic) {
    final Properties settings = new Properties();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
    settings.put(
        ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
    settings.put(
        ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class.getName());
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
      final List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream()
              .map(one -> new TopicPartition(topic, one.partition()))
              .collect(Collectors.toList());
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      final Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      final StringBuilder out = new StringBuilder();
      while (partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
          out.append(new String(record.value(), StandardCharsets.UTF_8)).append('\n');
        }
      }
      System.out.print(out);
    }
  }
}
