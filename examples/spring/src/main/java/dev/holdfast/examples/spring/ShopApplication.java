package dev.holdfast.examples.spring;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.scheduling.annotation.EnableScheduling;

/** The application. Its locks are in its own database, since it has a data source and {@code lock-jdbc}. */
@SpringBootApplication
@EnableScheduling
public class ShopApplication {

    /** Creates the configuration, which is Spring's to do. */
    public ShopApplication() {}

    /**
     * Starts it.
     *
     * @param arguments Boot's
     */
    public static void main(String[] arguments) {
        SpringApplication.run(ShopApplication.class, arguments);
    }
}
