package dev.holdfast.lock;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The result of a method has to be used: {@code client.lock("a");} as a statement locks nothing, and a lease that is dropped stays
 * taken until it is found. On a type, it applies to all its methods, except those marked with {@link CanIgnoreReturnValue}.
 *
 * <p>Error Prone refuses such statements, since it looks for an annotation of this simple name in any package. An inspection that
 * needs the full name has to be configured with it.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.METHOD})
public @interface CheckReturnValue {}
