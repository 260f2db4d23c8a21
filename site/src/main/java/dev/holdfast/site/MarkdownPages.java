package dev.holdfast.site;

import dev.holdfast.site.Page.Section;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.commonmark.Extension;
import org.commonmark.ext.gfm.tables.TablesExtension;
import org.commonmark.node.AbstractVisitor;
import org.commonmark.node.Code;
import org.commonmark.node.FencedCodeBlock;
import org.commonmark.node.HardLineBreak;
import org.commonmark.node.Heading;
import org.commonmark.node.Image;
import org.commonmark.node.Link;
import org.commonmark.node.Node;
import org.commonmark.node.SoftLineBreak;
import org.commonmark.node.Text;
import org.commonmark.parser.Parser;
import org.commonmark.renderer.html.HtmlRenderer;

/** Renders Markdown as GitHub does, as far as our pages use it: tables, anchors of headings, links between files. */
final class MarkdownPages {
    private static final List<Extension> EXTENSIONS = List.of(TablesExtension.create());

    private final Path root;
    private final Locations locations;
    private final Parser parser = Parser.builder().extensions(EXTENSIONS).build();

    MarkdownPages(Path root, Locations locations) {
        this.root = root;
        this.locations = locations;
    }

    Page read(Path source) throws IOException {
        Node document = parser.parse(Files.readString(root.resolve(source)));
        Map<Node, String> anchors = new IdentityHashMap<>();
        List<Section> sections = sections(document, anchors);
        List<Path> links = new ArrayList<>();
        HtmlRenderer renderer = HtmlRenderer.builder()
                .extensions(EXTENSIONS)
                .attributeProviderFactory(context -> (node, tag, attributes) -> {
                    if (node instanceof Heading) {
                        attributes.put("id", anchors.getOrDefault(node, ""));
                    } else if (node instanceof Link link) {
                        locations.target(source, link.getDestination()).ifPresent(links::add);
                        attributes.put("href", locations.rewrite(source, link.getDestination()));
                    } else if (node instanceof Image image && tag.equals("img")) {
                        locations.target(source, image.getDestination()).ifPresent(links::add);
                        attributes.put("src", locations.rewrite(source, image.getDestination()));
                    }
                })
                .build();
        String html = renderer.render(document);
        String title = sections.isEmpty() ? source.toString() : sections.get(0).heading();
        return new Page(source, locations.onSite(source), title, html, sections, links);
    }

    private static List<Section> sections(Node document, Map<Node, String> anchors) {
        List<Section> sections = new ArrayList<>();
        Set<String> used = new HashSet<>();
        Heading heading = null;
        StringBuilder text = new StringBuilder();
        for (Node node = document.getFirstChild(); node != null; node = node.getNext()) {
            if (node instanceof Heading next) {
                if (heading != null) {
                    sections.add(section(heading, anchors, text));
                }
                heading = next;
                text.setLength(0);
                anchors.put(next, unique(slug(text(next)), used));
            } else if (!(node instanceof FencedCodeBlock code && code.getInfo().startsWith("mermaid"))) {
                text.append(text(node)).append(' ');
            }
        }
        if (heading != null) {
            sections.add(section(heading, anchors, text));
        }
        return sections;
    }

    private static Section section(Heading heading, Map<Node, String> anchors, CharSequence text) {
        String oneLine = text.toString().strip().replaceAll("\\s+", " ");
        return new Section(heading.getLevel(), anchors.getOrDefault(heading, ""), text(heading), oneLine);
    }

    /** The text of a node and of all below it, without markup. */
    private static String text(Node node) {
        StringBuilder text = new StringBuilder();
        node.accept(new AbstractVisitor() {
            @Override
            public void visit(Text part) {
                text.append(part.getLiteral());
            }

            @Override
            public void visit(Code part) {
                text.append(part.getLiteral());
            }

            @Override
            public void visit(FencedCodeBlock part) {
                text.append(part.getLiteral());
            }

            @Override
            public void visit(SoftLineBreak part) {
                text.append(' ');
            }

            @Override
            public void visit(HardLineBreak part) {
                text.append(' ');
            }

            @Override
            protected void visitChildren(Node parent) {
                for (Node child = parent.getFirstChild(); child != null; child = child.getNext()) {
                    child.accept(this);
                    if (child instanceof org.commonmark.node.Block
                            || child instanceof org.commonmark.ext.gfm.tables.TableCell) {
                        text.append(' ');
                    }
                }
            }
        });
        return text.toString();
    }

    /** As GitHub makes an anchor of a heading. */
    private static String slug(String heading) {
        return heading.strip()
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^\\p{L}\\p{N} _-]", "")
                .replace(' ', '-');
    }

    private static String unique(String slug, Set<String> used) {
        String unique = slug;
        for (int number = 1; !used.add(unique); number++) {
            unique = slug + "-" + number;
        }
        return unique;
    }
}
