package dev.holdfast.chaos;

import java.util.List;
import java.util.Map;

/** Writes maps, lists, numbers, booleans and texts as JSON. */
final class Json {
    private final StringBuilder out = new StringBuilder();

    private Json() {}

    static String of(Object value) {
        Json json = new Json();
        json.write(value, "");
        return json.out.append('\n').toString();
    }

    private void write(Object value, String indent) {
        if (value instanceof Map<?, ?> map) {
            String inner = indent + "  ";
            String separator = "{\n";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(separator).append(inner);
                text(String.valueOf(entry.getKey()));
                out.append(": ");
                write(entry.getValue(), inner);
                separator = ",\n";
            }
            out.append(map.isEmpty() ? "{}" : "\n" + indent + "}");
        } else if (value instanceof List<?> list) {
            String inner = indent + "  ";
            String separator = "[\n";
            for (Object element : list) {
                out.append(separator).append(inner);
                write(element, inner);
                separator = ",\n";
            }
            out.append(list.isEmpty() ? "[]" : "\n" + indent + "]");
        } else if (value instanceof Number || value instanceof Boolean) {
            out.append(value);
        } else {
            text(String.valueOf(value));
        }
    }

    private void text(String text) {
        out.append('"');
        for (char c : text.toCharArray()) {
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                default -> {
                    if (c < ' ') {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }
}
