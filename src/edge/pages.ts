/** The edge's own pages: plain, without a script, and without a word about what else is hosted here. */

export type Page = { status: number; title: string; text: string }

export const PAGES = {
  nothingDeployed: {
    status: 404,
    title: 'Nothing deployed yet',
    text: 'This environment is ready. Upload an archive, and its site appears here.',
  },
  unknownHost: { status: 404, title: 'Not found', text: 'There is no site at this address.' },
  badRequest: { status: 400, title: 'Bad request', text: 'The request could not be understood.' },
} as const satisfies Record<string, Page>

export const render = ({ title, text }: Page): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
:root { color-scheme: light dark }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto 0; padding: 0 1.5rem }
h1 { font-size: 1.5rem; margin: 0 0 .5rem }
p { margin: 0; opacity: .75 }
</style>
</head>
<body>
<h1>${title}</h1>
<p>${text}</p>
</body>
</html>
`
