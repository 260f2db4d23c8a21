package dev.holdfast.lock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a method of a bean while it holds a lock.
 *
 * <p><b>When.</b> A call acquires the lock before the method and its transaction begin, and releases it after they have ended. A
 * method that returns a {@code CompletionStage} holds it until that is complete, one that returns a publisher ({@code Mono}, {@code
 * Flux}) while it is subscribed to. With {@code @Async} the asynchronous thread acquires it, with {@code @Retryable} each try again.
 * Nested calls of one thread re-enter. A call within a transaction that began before keeps the lock until that has
 * completed, and refuses its commit if the lease was lost ({@code holdfast.annotation.in-transaction}).
 *
 * <p><b>Exceptions.</b> A store that cannot be reached always throws ({@link dev.holdfast.lock.LockUnavailableException}), whatever
 * {@link #onBusy} says. If the lease is lost meanwhile, the call throws {@link dev.holdfast.lock.LeaseLostException} when the
 * method returns; an exception of the method itself comes first, and has the loss suppressed into it. {@link CurrentLease} shows
 * the lease within the method.
 *
 * <p><b>Which methods.</b> Those that a proxy sees: calls from other beans of methods that are not private, final or static; a
 * call within the same object is not seen, use {@link LockTemplate} there. A mistake in the annotation fails when the application
 * starts. An annotation at a method of an interface or a base class counts for the methods that implement it. There is none for
 * classes: one name for all methods is rarely intended.
 *
 * <p>All strings may have placeholders, {@code ${...}}, which are resolved once.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
public @interface Locked {

    /**
     * Returns the lock's name; the same as {@link #name}.
     *
     * @return the name
     */
    @AliasFor("name")
    String value() default "";

    /**
     * Returns the lock's name. Expressions of the Spring Expression Language stand in <code>#{...}</code> and are evaluated
     * at each call: {@code #id} is a parameter of the method (also {@code #a0}), {@code @bean} or {@code bean} a bean. Their
     * values become text unchanged and are never evaluated themselves. A value that is null, or that has no {@code
     * toString()} of its own, throws before any request, and so does a name that is blank or too long.
     *
     * @return the name, such as <code>orders/#{#id}</code>
     */
    @AliasFor("value")
    String name() default "";

    /**
     * Returns how long a call waits for the lock; {@code 0s} asks once.
     *
     * @return a duration, such as {@code 5s} or {@code PT5S}; by default {@code holdfast.annotation.wait}, and without that as long
     *     as it takes
     */
    String waitFor() default "";

    /**
     * Returns what happens if another holder has the lock after the wait.
     *
     * @return the choice; default {@link OnBusy#THROW}
     */
    OnBusy onBusy() default OnBusy.THROW;

    /**
     * Returns how long a grant lasts without renewal.
     *
     * @return a duration; by default as in {@link #options}
     */
    String lease() default "";

    /**
     * Returns the longest time that one hold may last.
     *
     * @return a duration; by default as in {@link #options}
     */
    String maxHold() default "";

    /**
     * Returns the shortest time that the lock stays taken.
     *
     * @return a duration; by default as in {@link #options}
     */
    String minHold() default "";

    /**
     * Returns the id of the options that are meant where this annotation says nothing.
     *
     * @return {@code <id>} of {@code holdfast.locks.<id>}; by default the client's own options
     */
    String options() default "";

    /**
     * Returns the client whose lock it is.
     *
     * @return the name or qualifier of a {@link dev.holdfast.lock.LockClient} bean, such as {@code <name>} of {@code
     *     holdfast.clients.<name>}; by default the only or primary one
     */
    String client() default "";
}
