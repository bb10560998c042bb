/** What a CMS would know. Here it is a text in memory, which PUT /api/content changes. */
globalThis.exampleContent ??= { text: 'first' }

module.exports = globalThis.exampleContent
