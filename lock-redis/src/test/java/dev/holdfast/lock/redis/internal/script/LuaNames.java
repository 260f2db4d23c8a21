package dev.holdfast.lock.redis.internal.script;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * Finds the names in a Lua text that no {@code local}, parameter or {@code for} declares where they are used. It reads the Lua of
 * the scripts: strings in one kind of quotes, no labels, no long brackets, comments on lines of their own.
 */
final class LuaNames {
    private static final Pattern TOKEN =
            Pattern.compile("'(?:[^'\\\\]|\\\\.)*'|[A-Za-z_]\\w*|\\d[\\w.]*|\\.\\.\\.?|[=~<>]=|\\S");
    private static final Set<String> WORDS = Set.of(
            ("and break do else elseif end false for function if in local nil not or repeat return then true until while")
                    .split(" "));
    private static final Set<String> OPENING = Set.of("then", "repeat", "do", "else");
    private static final Set<String> CLOSING = Set.of("end", "until", "elseif", "else");

    private final List<String> tokens;
    private final Deque<Set<String>> scopes = new ArrayDeque<>();
    private final Set<String> free = new TreeSet<>();

    private LuaNames(List<String> tokens) {
        this.tokens = tokens;
    }

    /** The names that are not declared, in order. */
    static Set<String> free(String lua) {
        LuaNames names = new LuaNames(TOKEN.matcher(lua.replaceAll("(?m)^\\s*--.*$", ""))
                .results()
                .map(found -> found.group())
                .toList());
        names.read();
        return names.free;
    }

    private String at(int i) {
        return i >= 0 && i < tokens.size() ? tokens.get(i) : "";
    }

    private void read() {
        scopes.push(new HashSet<>());
        boolean loopHasScope = false;
        for (int i = 0; i < tokens.size(); i++) {
            String token = at(i);
            if (CLOSING.contains(token)) {
                scopes.pop();
            }
            if (token.equals("local") && at(i + 1).equals("function")) {
                scopes.element().add(at(i + 2));
            } else if (token.equals("local")) {
                declare(i + 1);
            } else if (token.equals("function")) {
                scopes.push(new HashSet<>());
                declare(at(i + 1).equals("(") ? i + 2 : i + 3);
            } else if (token.equals("for")) {
                scopes.push(new HashSet<>());
                declare(i + 1);
                loopHasScope = true;
            } else if (token.equals("do") && loopHasScope) {
                loopHasScope = false;
            } else if (OPENING.contains(token)) {
                scopes.push(new HashSet<>());
            } else if (isName(token) && !isField(i) && scopes.stream().noneMatch(scope -> scope.contains(token))) {
                free.add(token);
            }
        }
        if (scopes.size() != 1) {
            throw new IllegalArgumentException("a block has no end, or an end no block");
        }
    }

    /** Declares the names of a list, which begins there. */
    private void declare(int from) {
        for (int i = from; isName(at(i)); i += 2) {
            scopes.element().add(at(i));
            if (!at(i + 1).equals(",")) {
                return;
            }
        }
    }

    private static boolean isName(String token) {
        return token.matches("[A-Za-z_]\\w*") && !WORDS.contains(token);
    }

    /** Whether it is what follows a point, or a key of a table. */
    private boolean isField(int i) {
        return at(i - 1).equals(".")
                || at(i + 1).equals("=") && (at(i - 1).equals("{") || at(i - 1).equals(","));
    }
}
