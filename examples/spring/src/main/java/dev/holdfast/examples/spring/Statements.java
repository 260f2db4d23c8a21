package dev.holdfast.examples.spring;

import dev.holdfast.lock.spring.Locked;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;

/** Numbers the statements of an account, in a file that all instances share: no transaction guards it, the lock does. */
@Component
public class Statements {
    private final Path folder;

    Statements(@Value("${shop.statements}") Path folder) {
        this.folder = folder;
    }

    /**
     * Takes the next number.
     *
     * @param account whose statement it is
     * @return 1, 2, 3…, without gaps, whichever instance is asked
     * @throws IOException if the file cannot be read or written
     */
    @Locked(name = "statements/#{#account}", waitFor = "20s")
    public int number(long account) throws IOException {
        Path file = Files.createDirectories(folder).resolve("account-" + account + ".txt");
        int next = Files.exists(file) ? Integer.parseInt(Files.readString(file)) + 1 : 1;
        Files.writeString(file, String.valueOf(next));
        return next;
    }
}
