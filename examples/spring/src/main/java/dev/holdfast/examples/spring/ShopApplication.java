package dev.holdfast.examples.spring;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.jdbc.JdbcLocks;
import javax.sql.DataSource;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.scheduling.annotation.EnableScheduling;

/** The application. Its locks are in its own database; {@code schema.sql} has their tables. */
@SpringBootApplication
@EnableScheduling
public class ShopApplication {

    /**
     * Starts it.
     *
     * @param arguments Boot's
     */
    public static void main(String[] arguments) {
        SpringApplication.run(ShopApplication.class, arguments);
    }

    /**
     * One client for the life of the application; Spring closes it before the pool, which releases what is held.
     *
     * @param dataSource the application's pool
     * @param name how the holder is shown
     * @return the client
     */
    @Bean
    LockClient lockClient(DataSource dataSource, @Value("${spring.application.name}") String name) {
        return JdbcLocks.builder(dataSource)
                .options(LockClientOptions.builder().who(name).build())
                .build();
    }
}
