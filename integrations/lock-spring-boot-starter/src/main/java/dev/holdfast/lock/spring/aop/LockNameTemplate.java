package dev.holdfast.lock.spring.aop;

import dev.holdfast.lock.spi.LockName;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.BeanExpressionContext;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.expression.BeanExpressionContextAccessor;
import org.springframework.context.expression.BeanFactoryAccessor;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.EnvironmentAccessor;
import org.springframework.context.expression.MapAccessor;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.ParserContext;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/**
 * A lock's name with expressions in <code>#{}</code>. It is parsed once, when the application starts. A call inserts the values of
 * the expressions as text: nothing that comes from an argument is ever parsed, evaluated or looked up as a placeholder. Thread-safe.
 */
final class LockNameTemplate {
    private static final ParameterNameDiscoverer NAMES = new DefaultParameterNameDiscoverer();

    private final String text;
    private final Method method;
    private final ConfigurableBeanFactory beans;
    private final List<Expression> parts;

    private LockNameTemplate(String text, Method method, ConfigurableBeanFactory beans, List<Expression> parts) {
        this.text = text;
        this.method = method;
        this.beans = beans;
        this.parts = parts;
    }

    /**
     * Parses a name.
     *
     * @param text the annotation's text, without placeholders
     * @param method where the annotation stands, which names the parameters
     * @param beans those that expressions may name
     * @throws IllegalArgumentException if it cannot be a name
     */
    static LockNameTemplate parse(String text, Method method, ConfigurableBeanFactory beans) {
        if (text.isBlank()) {
            throw new IllegalArgumentException("the name is blank");
        }
        List<Expression> parts = new ArrayList<>();
        try {
            Expression parsed = new SpelExpressionParser().parseExpression(text, ParserContext.TEMPLATE_EXPRESSION);
            parts.addAll(
                    parsed instanceof CompositeStringExpression composite
                            ? Arrays.asList(composite.getExpressions())
                            : List.of(parsed));
        } catch (ParseException | IllegalStateException e) {
            throw new IllegalArgumentException("the name '" + text + "' cannot be parsed: " + e.getMessage(), e);
        }
        LockNameTemplate template = new LockNameTemplate(text, method, beans, List.copyOf(parts));
        template.check();
        return template;
    }

    private void check() {
        Set<String> known = variables();
        for (Expression part : parts) {
            if (part instanceof SpelExpression expression) {
                requireKnown(expression.getAST(), known);
            }
        }
        String literals = parts.stream()
                .filter(LiteralExpression.class::isInstance)
                .map(Expression::getExpressionString)
                .collect(Collectors.joining());
        for (String name : known) {
            if (literals.matches("(?s).*#" + Pattern.quote(name) + "\\b.*")) {
                throw new IllegalArgumentException(
                        "the name '" + text + "' has #" + name + " as plain text; write #{#" + name + "}");
            }
        }
        if (isLiteral()) {
            LockName.requireValid(text);
        }
    }

    private void requireKnown(SpelNode node, Set<String> known) {
        if (node instanceof VariableReference variable) {
            String name = variable.toStringAST().substring(1);
            if (!known.contains(name) && !name.equals("root") && !name.equals("this")) {
                throw new IllegalArgumentException("the name '" + text + "' has #" + name
                        + ", but the parameters that the class file names are " + new TreeSet<>(known)
                        + "; correct it, or compile with -parameters");
            }
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            requireKnown(node.getChild(i), known);
        }
    }

    private Set<String> variables() {
        Set<String> known = IntStream.range(0, method.getParameterCount())
                .boxed()
                .flatMap(index -> List.of("a" + index, "p" + index).stream())
                .collect(Collectors.toCollection(TreeSet::new));
        @Nullable String @Nullable [] names = NAMES.getParameterNames(method);
        if (names != null) {
            for (String name : names) {
                if (name != null) {
                    known.add(name);
                }
            }
        }
        return known;
    }

    /** Returns whether it is the same at every call. */
    boolean isLiteral() {
        return parts.stream().allMatch(LiteralExpression.class::isInstance);
    }

    /**
     * Returns the name for a call.
     *
     * @throws IllegalArgumentException if an expression fails, or its value is null or has no text of its own
     */
    String evaluate(@Nullable Object[] arguments) {
        if (isLiteral()) {
            return text;
        }
        MethodBasedEvaluationContext context =
                new MethodBasedEvaluationContext(new BeanExpressionContext(beans, null), method, arguments, NAMES);
        context.setBeanResolver(new BeanFactoryResolver(beans));
        context.addPropertyAccessor(new BeanExpressionContextAccessor());
        context.addPropertyAccessor(new BeanFactoryAccessor());
        context.addPropertyAccessor(new MapAccessor());
        context.addPropertyAccessor(new EnvironmentAccessor());
        StringBuilder name = new StringBuilder();
        for (Expression part : parts) {
            name.append(part instanceof LiteralExpression ? part.getExpressionString() : value(part, context));
        }
        return name.toString();
    }

    private String value(Expression part, MethodBasedEvaluationContext context) {
        Object value;
        try {
            value = part.getValue(context);
        } catch (EvaluationException e) {
            throw new IllegalArgumentException(
                    this + ": #{" + part.getExpressionString() + "} cannot be evaluated: " + e.getMessage(), e);
        }
        if (value instanceof Optional<?> optional) {
            value = optional.orElse(null);
        }
        if (value == null) {
            throw new IllegalArgumentException(this + ": #{" + part.getExpressionString()
                    + "} is null, so that unrelated calls would have the same lock; pass a value");
        }
        String shown = value instanceof Enum<?> constant ? constant.name() : value.toString();
        if (!hasText(value.getClass())) {
            throw new IllegalArgumentException(this + ": #{" + part.getExpressionString() + "} is a "
                    + value.getClass().getName()
                    + ", whose text differs from process to process; name a property of it");
        }
        return shown;
    }

    /** Returns whether the text of a class's objects is not that of {@link Object}, which has their identity. */
    private static boolean hasText(Class<?> type) {
        try {
            return type.getMethod("toString").getDeclaringClass() != Object.class;
        } catch (NoSuchMethodException e) {
            return false;
        }
    }

    @Override
    public String toString() {
        return "@Locked(\"" + text + "\") of " + LockedMethod.caller(method);
    }
}
