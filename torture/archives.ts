/** Cheap archives whose pages name their account, version, build and variables, and when they were rendered. */
import type { Files } from '../test/support/service/deploy.ts'
import type { Marks, Upload } from './journal.ts'
import type { ArchiveKind } from './plan.ts'

/** Where builds reach the CMS and the registry. */
export type Addresses = { cms: string; registry: string }

const OPEN = '<!--MARKS'
const CLOSE = 'MARKS-->'

export function readMarks(text: string): Marks | undefined {
  const [start, end] = [text.indexOf(OPEN), text.indexOf(CLOSE)]
  return start < 0 || end < 0 ? undefined : JSON.parse(text.slice(start + OPEN.length, end))
}

export function archiveOf(account: string, { version, kind, label }: Upload, { cms, registry }: Addresses): Files {
  const marks: Marks = { account, label, version, kind }
  return MAKE[kind](marks, { cms, registry })
}

/** Enough to be more than one packet. */
const FILLER = '<p>torture</p>'.repeat(150)
const page = (marks: string) => `'<!doctype html><title>torture</title>${OPEN}' + ${marks} + '${CLOSE}${FILLER}'`

const ALL_MARKS = (marks: Marks, more = '') => `JSON.stringify({
  ...${JSON.stringify(marks)},
  environment: process.env.HEADLESS_METADATA_ENV_ID,
  build: process.env.HEADLESS_METADATA_BUILD_ID,
  variable: process.env.MARK,
  ${more}
})`

const buildOf = (marks: Marks, script: string) => ({
  'package.json': JSON.stringify({ name: 'torture', scripts: { build: 'node build.js torture-build' } }),
  'build.js': `
    const fs = require('node:fs')
    async function build() {
      ${script}
      fs.mkdirSync('dist', { recursive: true })
      fs.writeFileSync('dist/index.html', ${page(ALL_MARKS(marks))})
    }
    build().catch((error) => { console.error(error); process.exit(1) })
  `,
})

const SOME_WORK = 'await new Promise((resolve) => setTimeout(resolve, 300))'

const MAKE: Record<ArchiveKind, (marks: Marks, addresses: Addresses) => Files> = {
  plain: (marks) => ({
    'index.html': `<!doctype html><title>torture</title>${OPEN}${JSON.stringify(marks)}${CLOSE}${FILLER}`,
  }),

  built: (marks) => buildOf(marks, SOME_WORK),

  broken: (marks) => buildOf(marks, `throw new Error('this build is meant to fail')`),

  fromCms: (marks, { cms }) =>
    buildOf(
      marks,
      `const response = await fetch(${JSON.stringify(cms)})
       if (!response.ok) throw new Error('the CMS answered ' + response.status)
       console.log('the CMS says', await response.text())`,
    ),

  withPackage: (marks, { registry }) => ({
    ...buildOf(marks, `console.log(require('torture-package'))`),
    'package.json': JSON.stringify({
      name: 'torture',
      dependencies: { 'torture-package': '1.0.0' },
      scripts: { build: 'node build.js torture-build' },
    }),
    '.npmrc': `registry=${registry}\nfetch-retries=0\naudit=false\nfund=false\n`,
  }),

  server: (marks) => ({
    'package.json': JSON.stringify({ name: 'torture', scripts: { start: 'node server.js torture-app' } }),
    'server.js': `
      const http = require('node:http')
      const server = http.createServer((request, response) => {
        const path = request.url
        const rendered = Number(process.hrtime.bigint()) / 1e6
        const body = ${page(ALL_MARKS(marks, 'path, rendered'))}
        response.setHeader('content-type', 'text/html')
        response.setHeader('cache-control', 's-maxage=600, stale-while-revalidate=600, stale-if-error=600')
        response.setHeader('cache-tag', 'everything, page-' + path.slice(1))
        // A page that may be rendered before a purge and arrive after it.
        if (path === '/slow') setTimeout(() => response.end(body), 250)
        else response.end(body)
      })
      server.listen(process.env.PORT, process.env.HOST)
      process.on('SIGTERM', () => server.close(() => process.exit()))
    `,
  }),
}
