package dev.holdfast.lock.spring.test;

import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.lock.spring.boot.LockedAutoConfiguration;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;

/**
 * On a test class: the locks of its application context are in memory, in a store of the context's own, whatever the
 * application is configured to use. No server is needed, and slices such as {@code @WebMvcTest} get a
 * {@link dev.holdfast.lock.LockClient} too, with {@code @Locked} and the template. The store is a bean, {@link dev.holdfast.lock.memory.MemoryStore}, whose
 * {@code expire} takes a lock from its holder.
 *
 * <p>Needs {@code lock-memory} on the test's class path. An application's own client bean stays, but the one in memory is
 * the primary one.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ImportAutoConfiguration({MemoryLocksConfiguration.class, HoldfastAutoConfiguration.class, LockedAutoConfiguration.class
})
public @interface AutoConfigureLocks {}
