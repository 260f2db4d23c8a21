'use strict';
// Diagrams, anchors, and the search. Everything is loaded from the site's own folder, which may be a local one.
(() => {
  const root = document.body.dataset.root;

  // A table may be wider than a phone: it scrolls by itself.
  for (const table of document.querySelectorAll('main table')) {
    const wide = document.createElement('div');
    wide.className = 'wide';
    table.replaceWith(wide);
    wide.append(table);
  }

  for (const heading of document.querySelectorAll('main :is(h2, h3, h4)[id]')) {
    const link = document.createElement('a');
    link.className = 'anchor';
    link.href = '#' + heading.id;
    link.textContent = '#';
    link.setAttribute('aria-label', 'Link to this section');
    heading.append(link);
  }

  if (window.hljs) {
    for (const code of document.querySelectorAll('main pre code[class*=language-]:not(.language-mermaid)')) {
      window.hljs.highlightElement(code);
    }
  }

  // Without a secure context (a site on plain HTTP), browsers have no clipboard, and there is no button.
  if (navigator.clipboard) {
    for (const code of document.querySelectorAll('main pre > code:not(.language-mermaid)')) {
      const button = document.createElement('button');
      button.className = 'copy';
      button.type = 'button';
      button.textContent = 'Copy';
      button.addEventListener('click', () => navigator.clipboard.writeText(code.textContent)
        .then(() => { button.textContent = 'Copied'; }, () => { button.textContent = 'Not copied'; })
        .then(() => setTimeout(() => { button.textContent = 'Copy'; }, 2000)));
      const block = document.createElement('div');
      block.className = 'block';
      code.parentElement.replaceWith(block);
      block.append(code.parentElement, button);
    }
  }

  if (window.mermaid) {
    const diagrams = [...document.querySelectorAll('code.language-mermaid')].map(code => {
      const diagram = document.createElement('pre');
      diagram.className = 'mermaid';
      diagram.textContent = code.textContent;
      code.parentElement.replaceWith(diagram);
      return diagram;
    });
    const dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
    window.mermaid.initialize({ startOnLoad: false, securityLevel: 'strict', theme: dark ? 'dark' : 'neutral' });
    window.mermaid.run({ nodes: diagrams })
      .then(() => { document.body.dataset.diagrams = diagrams.length; })
      .catch(error => { document.body.dataset.diagrams = 'failed: ' + error.message; });
  }

  const input = document.getElementById('site-search');
  const results = document.getElementById('site-results');
  const found = document.getElementById('site-found');
  let index;
  let loading;

  function script(name) {
    return new Promise((resolve, reject) => {
      const element = document.createElement('script');
      element.src = root + 'assets/' + name;
      element.onload = resolve;
      element.onerror = () => reject(new Error(name + ' cannot be loaded'));
      document.head.append(element);
    });
  }

  // The index is built when it is first asked for: some hundred sections, a fraction of a second.
  function load() {
    loading ??= Promise.all([script('lunr.min.js'), script('search-index.js')]).then(() => {
      window.lunr.tokenizer.separator = /[\s\-.,;:()\[\]{}<>="'`|\/]+/;
      index = window.lunr(function () {
        this.ref('number');
        this.field('heading', { boost: 8 });
        this.field('title', { boost: 4 });
        this.field('text');
        this.field('names', { boost: 6 });
        this.field('also');
        window.searchIndex.forEach(([, title, heading, text, names, also], number) =>
          this.add({ number, title, heading, text, names, also }));
      });
    });
    return loading;
  }

  function find(words) {
    const terms = window.lunr.tokenizer(words).map(token => token.toString());
    return index.query(query => {
      for (const term of terms) {
        query.term(window.lunr.stemmer(new window.lunr.Token(term)).toString(), { boost: 10 });
        query.term(term, { boost: 5, usePipeline: false, wildcard: window.lunr.Query.wildcard.TRAILING });
      }
    }).map(hit => ({ entry: window.searchIndex[hit.ref], terms, matched: matched(hit, terms), score: hit.score }))
      .sort((one, other) => other.matched - one.matched || other.score - one.score)
      .slice(0, 12);
  }

  // How many of the words a hit has: a section with all of them comes first.
  function matched(hit, terms) {
    const found = Object.keys(hit.matchData.metadata);
    return terms.filter(term => {
      const stem = window.lunr.stemmer(new window.lunr.Token(term)).toString();
      return found.some(word => word === stem || word.startsWith(term));
    }).length;
  }

  function excerpt(text, terms) {
    const lower = text.toLowerCase();
    const at = Math.max(0, Math.min(...terms.map(term => lower.indexOf(term)).filter(place => place >= 0), text.length) - 40);
    const from = at >= text.length - 41 ? 0 : at;
    return (from > 0 ? '…' : '') + text.slice(from, from + 150) + (from + 150 < text.length ? '…' : '');
  }

  function show(hits) {
    results.replaceChildren(...hits.map(({ entry: [address, title, heading, text], terms }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      const name = document.createElement('strong');
      const some = document.createElement('span');
      link.href = root + address;
      name.textContent = title === heading ? title : title + ' › ' + heading;
      some.textContent = excerpt(text, terms);
      link.append(name, some);
      item.append(link);
      return item;
    }));
    if (hits.length === 0) {
      const none = document.createElement('li');
      none.className = 'none';
      none.textContent = 'Nothing found';
      results.append(none);
    }
    found.textContent = hits.length === 1 ? '1 section found' : hits.length + ' sections found';
    results.hidden = false;
  }

  function search() {
    const words = input.value.trim().toLowerCase();
    if (words === '') {
      results.hidden = true;
      return;
    }
    load().then(() => show(find(words)));
  }

  input.addEventListener('focus', () => load());
  input.addEventListener('input', search);
  input.addEventListener('keydown', event => {
    const first = results.querySelector('a');
    if (event.key === 'Enter' && first) {
      first.click();
    } else if (event.key === 'ArrowDown' && first) {
      first.focus();
      event.preventDefault();
    }
  });
  results.addEventListener('keydown', event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const links = [...results.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (step && at >= 0) {
      (links[at + step] ?? input).focus();
      event.preventDefault();
    }
  });
  results.addEventListener('click', () => { results.hidden = true; });
  document.addEventListener('keydown', event => {
    if (event.key === 'Escape') {
      results.hidden = true;
    } else if (event.key === '/' && !/^(input|textarea)$/i.test(document.activeElement.tagName)) {
      input.focus();
      event.preventDefault();
    }
  });
  document.addEventListener('click', event => {
    if (!event.target.closest('.search')) {
      results.hidden = true;
    }
  });

  // An address may carry a search: index.html?q=lease
  const asked = new URLSearchParams(window.location.search).get('q');
  if (asked) {
    input.value = asked;
    search();
  }
})();
