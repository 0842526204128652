// Topics.java: topics of a broker, for tests; run as it stands: java -cp 'lib/*' Topics.java …
//
//   create SERVERS TOPIC PARTITIONS
//   write SERVERS TOPIC         lines of standard input, each PARTITION<tab>VALUE; - for no partition
//   read SERVERS TOPIC          what is committed, each PARTITION<tab>KEY<tab>VALUE, in order of partition and offset
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

public final class Topics {
  public static void main(String[] words) throws Exception {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", words[1]);
    String side = words[0].equals("read") ? "deserializer" : "serializer";
    String type = "org.apache.kafka.common.serialization.String" + (side.equals("serializer") ? "Serializer" : "Deserializer");
    settings.put("key." + side, type);
    settings.put("value." + side, type);
    switch (words[0]) {
      case "create" -> create(settings, words[2], Integer.parseInt(words[3]));
      case "write" -> write(settings, words[2]);
      case "read" -> read(settings, words[2]);
      default -> throw new IllegalArgumentException(words[0] + ": create, write or read");
    }
  }

  private static void create(Properties settings, String topic, int partitions) throws Exception {
    try (Admin admin = Admin.create(settings)) {
      admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
    }
  }

  private static void write(Properties settings, String topic) throws Exception {
    settings.put("acks", "all");
    settings.put("linger.ms", "5");
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        int tab = line.indexOf('\t');
        String partition = line.substring(0, tab);
        Integer to = partition.equals("-") ? null : Integer.valueOf(partition);
        producer.send(new ProducerRecord<>(topic, to, null, line.substring(tab + 1)));
      }
    }
  }

  private static void read(Properties settings, String topic) {
    settings.put("isolation.level", "read_committed");
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
      List<TopicPartition> partitions = new ArrayList<>();
      consumer.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
      partitions.sort((left, right) -> left.partition() - right.partition());
      for (TopicPartition partition : partitions) {
        consumer.assign(List.of(partition));
        consumer.seekToBeginning(List.of(partition));
        Map<TopicPartition, Long> end = consumer.endOffsets(List.of(partition));
        while (consumer.position(partition) < end.get(partition)) {
          for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
            out.println(record.partition() + "\t" + record.key() + "\t" + record.value());
          }
        }
      }
    }
    out.flush();
  }
}
