package dev.holdfast.benchmarks.worker;

import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * One line between the harness and a worker: a word and then {@code key=value} pairs, with blanks between. Keys and values have
 * no blanks. Not thread-safe.
 */
public final class Message {
    private final String word;
    private final Map<String, String> values = new LinkedHashMap<>();

    /**
     * An order or an answer without values yet.
     *
     * @param word what it is
     */
    public Message(String word) {
        this.word = word;
    }

    /**
     * Reads a line.
     *
     * @param line as written by {@link #toString()}
     * @return what it says
     * @throws IllegalArgumentException if it is no such line
     */
    public static Message parse(String line) {
        String[] parts = line.trim().split(" ");
        if (parts[0].isEmpty()) {
            throw new IllegalArgumentException("an empty line");
        }
        Message message = new Message(parts[0]);
        for (int i = 1; i < parts.length; i++) {
            int equals = parts[i].indexOf('=');
            if (equals < 1) {
                throw new IllegalArgumentException("no key=value: '" + parts[i] + "' in '" + line + "'");
            }
            message.values.put(parts[i].substring(0, equals), parts[i].substring(equals + 1));
        }
        return message;
    }

    /**
     * The first word.
     *
     * @return what the line is
     */
    public String word() {
        return word;
    }

    /**
     * Adds a value.
     *
     * @param key without blanks and {@code =}
     * @param value without blanks
     * @return this
     * @throws IllegalArgumentException if there are blanks
     */
    public Message with(String key, Object value) {
        String text = value.toString();
        if ((key + text).chars().anyMatch(Character::isWhitespace) || key.indexOf('=') >= 0) {
            throw new IllegalArgumentException("blanks in '" + key + "=" + text + "'");
        }
        values.put(key, text);
        return this;
    }

    /**
     * Adds a histogram.
     *
     * @param key its name
     * @param histogram the recorded times
     * @return this
     */
    public Message with(String key, Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(buffer);
        return with(key, Base64.getEncoder().encodeToString(java.util.Arrays.copyOf(buffer.array(), length)));
    }

    /**
     * Whether there is such a value.
     *
     * @param key its name
     * @return whether it can be read
     */
    public boolean contains(String key) {
        return values.containsKey(key);
    }

    /**
     * Reads a text.
     *
     * @param key its name
     * @return the value
     * @throws IllegalArgumentException if it is missing
     */
    public String text(String key) {
        String value = values.get(key);
        if (value == null) {
            throw new IllegalArgumentException("no " + key + " in '" + this + "'");
        }
        return value;
    }

    /**
     * Reads a whole number.
     *
     * @param key its name
     * @param otherwise what it is if missing
     * @return the value
     */
    public long number(String key, long otherwise) {
        String value = values.get(key);
        return value == null ? otherwise : Long.parseLong(value);
    }

    /**
     * Reads a whole number.
     *
     * @param key its name
     * @return the value
     * @throws IllegalArgumentException if it is missing
     */
    public long number(String key) {
        return Long.parseLong(text(key));
    }

    /**
     * Reads a histogram.
     *
     * @param key its name
     * @return the recorded times
     * @throws IllegalArgumentException if it is missing or damaged
     */
    public Histogram histogram(String key) {
        try {
            return Histogram.decodeFromCompressedByteBuffer(
                    ByteBuffer.wrap(Base64.getDecoder().decode(text(key))), 0);
        } catch (DataFormatException e) {
            throw new IllegalArgumentException("damaged histogram " + key, e);
        }
    }

    @Override
    public String toString() {
        StringBuilder line = new StringBuilder(word);
        values.forEach((key, value) -> line.append(' ').append(key).append('=').append(value));
        return line.toString();
    }
}
