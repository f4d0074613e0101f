package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.lang.management.*;
import java.nio.*;
import java.nio.file.*;
import java.util.*;
import org.apache.paimon.data.*;
import org.apache.paimon.fileindex.*;
import org.apache.paimon.options.Options;
import org.apache.paimon.types.*;

/**
 * Times Java's writers for bench/build.py.
 *
 * <pre>
 * {"cmd":"load", "name", "type", "file"}                   a column: little-endian rows of
 *                                                          u8 not-null, then i32 / i64, or i32 length and bytes
 * {"cmd":"time", "name", "index", "seconds", "cpu"}        -> {"nanos"}: the median build over that long, values boxed
 *                                                          as a row hands them over, first write to serializedBytes;
 *                                                          cpu: processor time of the process, garbage collection included
 * </pre>
 */
final class Bench {
    private static final Map<String, Object[]> COLUMNS = new HashMap<>();
    private static final Map<String, DataType> TYPES = new HashMap<>();
    private static final com.sun.management.OperatingSystemMXBean SYSTEM =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static volatile Object sink;

    static void load(JsonNode q) throws IOException {
        DataType type = Vals.type(q.get("type").asText());
        ByteBuffer in = ByteBuffer.wrap(Files.readAllBytes(Paths.get(q.get("file").asText()))).order(ByteOrder.LITTLE_ENDIAN);
        List<Object> values = new ArrayList<>();
        while (in.hasRemaining()) {
            if (in.get() == 0) {
                values.add(null);
                continue;
            }
            switch (type.getTypeRoot()) {
                case INTEGER: values.add(in.getInt()); break;
                case BIGINT: values.add(in.getLong()); break;
                case DECIMAL: {
                    DecimalType d = (DecimalType) type;
                    values.add(Decimal.fromUnscaledLong(in.getLong(), d.getPrecision(), d.getScale()));
                    break;
                }
                case TIMESTAMP_WITHOUT_TIME_ZONE: values.add(Timestamp.fromMicros(in.getLong())); break;
                case VARCHAR: {
                    byte[] bytes = new byte[in.getInt()];
                    in.get(bytes);
                    values.add(BinaryString.fromBytes(bytes));
                    break;
                }
                default: throw new IllegalArgumentException(type.asSQLString());
            }
        }
        COLUMNS.clear(); // one column at a time: memory
        COLUMNS.put(q.get("name").asText(), values.toArray());
        TYPES.put(q.get("name").asText(), type);
    }

    static long time(JsonNode q) {
        Object[] values = COLUMNS.get(q.get("name").asText());
        DataType type = TYPES.get(q.get("name").asText());
        boolean cpu = q.get("cpu").asBoolean();
        List<Long> times = new ArrayList<>();
        long end = System.nanoTime() + (long) (1e9 * q.get("seconds").asDouble());
        do {
            long start = cpu ? SYSTEM.getProcessCpuTime() : System.nanoTime();
            FileIndexWriter writer =
                    FileIndexer.create(q.get("index").asText(), type, new Options()).createWriter();
            for (Object value : values) writer.writeRecord(value);
            sink = writer.serializedBytes();
            times.add((cpu ? SYSTEM.getProcessCpuTime() : System.nanoTime()) - start);
        } while (System.nanoTime() < end);
        Collections.sort(times);
        return times.get(times.size() / 2);
    }
}
