package dev.holdfast.lock.spring;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.core.annotation.AliasFor;

/**
 * Runs a job on one instance of the application only: {@link Locked} without a wait, skipped while another instance runs it. Give it a
 * {@link #minHold} that is longer than the clocks of the instances differ, or a short job runs on a second instance whose clock is
 * behind.
 */
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Locked(waitFor = "0s", onBusy = OnBusy.SKIP)
public @interface LockedJob {

    /**
     * Returns the lock's name, as {@link Locked#name}.
     *
     * @return the name
     */
    @AliasFor(annotation = Locked.class, attribute = "name")
    String value();

    /**
     * Returns how long a grant lasts without renewal, as {@link Locked#lease}.
     *
     * @return a duration
     */
    @AliasFor(annotation = Locked.class)
    String lease() default "";

    /**
     * Returns the longest time that one run may last, as {@link Locked#maxHold}.
     *
     * @return a duration
     */
    @AliasFor(annotation = Locked.class)
    String maxHold() default "";

    /**
     * Returns the shortest time that the lock stays taken, as {@link Locked#minHold}.
     *
     * @return a duration
     */
    @AliasFor(annotation = Locked.class)
    String minHold() default "";

    /**
     * Returns the id of the options, as {@link Locked#options}.
     *
     * @return the id
     */
    @AliasFor(annotation = Locked.class)
    String options() default "";

    /**
     * Returns the client whose lock it is, as {@link Locked#client}.
     *
     * @return the name or qualifier of a bean
     */
    @AliasFor(annotation = Locked.class)
    String client() default "";
}
