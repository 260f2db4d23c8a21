package dev.holdfast.lock.spring;

/**
 * A bean that changes the builder of the starter's lock client, before the client is built: a {@code RedisLocks.Builder}, {@code
 * JdbcLocks.Builder}, {@code EtcdLocks.Builder} or {@code ZooKeeperLocks.Builder}. A customizer whose builder is another one is not
 * called, and none is with {@code holdfast.uri}. It must not set what properties have set, since each value may be set once.
 *
 * <pre>{@code
 * @Bean
 * LockClientBuilderCustomizer<JdbcLocks.Builder> rowLocks() {
 *     return builder -> builder.maxRowLocks(20);
 * }
 * }</pre>
 *
 * @param <B> the builder
 */
@FunctionalInterface
public interface LockClientBuilderCustomizer<B> {

    /**
     * Changes the builder.
     *
     * @param builder to be changed
     */
    void customize(B builder);
}
