// What Avro's own library makes of files, and files that it writes: avro_test.py compares.
//
//     show FILE                  each row as a line of JSON, as Holdfast has it
//     copy FROM TO CODEC         the same rows, written by this library in small blocks
//     make SCHEMA TO CODEC N     N times the record of standard input, which is in Avro's JSON
//     bytes FILE                 each row as the bytes of a message, in Base64
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.file.CodecFactory;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.file.DataFileWriter;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;

class AvroRows {
  static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSS").withZone(ZoneOffset.UTC);

  static Object plain(Schema schema, Object value) {
    if (schema.getType() == Schema.Type.UNION)
      return plain(schema.getTypes().get(GenericData.get().resolveUnion(schema, value)), value);
    LogicalType logical = schema.getLogicalType();
    String name = logical == null ? "" : logical.getName();
    switch (schema.getType()) {
      case RECORD: {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (Schema.Field field : schema.getFields())
          fields.put(field.name(), plain(field.schema(), ((GenericRecord) value).get(field.pos())));
        return fields;
      }
      case ARRAY: {
        List<Object> elements = new ArrayList<>();
        for (Object element : (List<?>) value) elements.add(plain(schema.getElementType(), element));
        return elements;
      }
      case MAP: {
        Map<String, Object> entries = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet())
          entries.put(entry.getKey().toString(), plain(schema.getValueType(), entry.getValue()));
        return entries;
      }
      case BYTES: {
        byte[] bytes = new byte[((ByteBuffer) value).remaining()];
        ((ByteBuffer) value).duplicate().get(bytes);
        return new BigDecimal(new BigInteger(bytes), ((LogicalTypes.Decimal) logical).getScale());
      }
      case INT: return name.equals("date") ? LocalDate.ofEpochDay((int) value).toString() : value;
      case LONG:
        return name.equals("timestamp-millis") ? TIME.format(Instant.ofEpochMilli((long) value)) : value;
      case STRING: return value.toString();
      default: return value;
    }
  }

  static DataFileReader<GenericRecord> open(String path) throws Exception {
    return new DataFileReader<>(new File(path), new GenericDatumReader<GenericRecord>());
  }

  static DataFileWriter<GenericRecord> create(Schema schema, String path, String codec) throws Exception {
    DataFileWriter<GenericRecord> writer = new DataFileWriter<>(new GenericDatumWriter<>(schema));
    return writer.setCodec(CodecFactory.fromString(codec)).setSyncInterval(2000).create(schema, new File(path));
  }

  public static void main(String[] words) throws Exception {
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    if (words[0].equals("make")) {
      Schema schema = new Schema.Parser().parse(Path.of(words[1]).toFile());
      GenericRecord record = new GenericDatumReader<GenericRecord>(schema)
          .read(null, DecoderFactory.get().jsonDecoder(schema, System.in));
      try (DataFileWriter<GenericRecord> writer = create(schema, words[2], words[3])) {
        for (int i = 0; i < Integer.parseInt(words[4]); ++i) writer.append(record);
      }
      return;
    }
    try (DataFileReader<GenericRecord> reader = open(words[1])) {
      Schema schema = reader.getSchema();
      if (words[0].equals("copy")) {
        try (DataFileWriter<GenericRecord> writer = create(schema, words[2], words[3])) {
          while (reader.hasNext()) writer.append(reader.next());
        }
        return;
      }
      ObjectMapper json = new ObjectMapper();
      while (reader.hasNext()) {
        GenericRecord row = reader.next();
        if (words[0].equals("show")) {
          out.println(json.writeValueAsString(plain(schema, row)));
          continue;
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        var encoder = EncoderFactory.get().directBinaryEncoder(bytes, null);
        new GenericDatumWriter<GenericRecord>(schema).write(row, encoder);
        out.println(Base64.getEncoder().encodeToString(bytes.toByteArray()));
      }
      out.flush();
    }
  }
}
