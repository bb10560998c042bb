/**
 * The tutorials about moving here from another host: the files of the project and the commands are those of the page, and
 * the site answers as it did there. The projects need no packages; the page about Vercel is run with Next.js in
 * test/frameworks, too. docs/tutorials/ci.md is run with the package that it installs, in package.test.ts.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { siteAnswer } from '../../support/service/environment.ts'
import { startService, type TestService } from '../../support/service/service.ts'
import { type Followed, followTutorial } from '../../support/tutorials.ts'

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
let service: TestService
before(async () => {
  service = await startService(file)
})
after(async () => {
  for (const end of ends) await end()
})

const BUILD = { scripts: { build: 'node build.mjs' } }

/** Writes pages, each with the variables that the build has. */
const buildInto = (folder: string, files: Record<string, string>): string => `
  import { mkdirSync, writeFileSync } from 'node:fs'
  import { dirname } from 'node:path'
  const files = ${JSON.stringify(files)}
  for (const [name, text] of Object.entries(files)) {
    const path = ${JSON.stringify(`${folder}/`)} + name
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text.replaceAll(/\\$(\\w+)/g, (_, key) => process.env[key]))
  }
`

describe('docs/tutorials/migrate-vercel.md, with a site that is only files', () => {
  let followed: Followed
  before(async () => {
    followed = await followTutorial(file, service, 'docs/tutorials/migrate-vercel.md', (page) => ({
      'package.json': JSON.stringify(BUILD),
      'build.mjs': buildInto('www', {
        'index.html': '<h1>$NEXT_PUBLIC_GREETING</h1>\n$SETTINGS\n$PRIVATE_KEY',
        'posts/lamp.html': '<h1>Lamp</h1>',
      }),
      'vercel.json': JSON.stringify({ ...JSON.parse(page.block('json')), outputDirectory: 'www' }),
      '.env.production.local': page.block('ini'),
    }))
  })

  after(() => followed.run('headland domains remove www.customer.example'))

  test('the build finds each value as it was at Vercel: line ends and quotes', async () => {
    const { text } = await siteAnswer(service, followed.url)
    assert.equal(
      text,
      '<h1>hello from the file</h1>\n{"colour":"blue"}\n-----BEGIN KEY-----\nMIIB\n-----END KEY-----\n',
    )
  })

  test('variables of Vercel itself stay behind', () => {
    const printed = followed.printed('headland variables')
    assert.match(printed, /^CMS_TOKEN +SECRET +\(hidden\)$/m)
    assert.doesNotMatch(printed, /VERCEL|TURBO|NX_DAEMON/)
  })

  test('redirects, rewrites and headers are those of vercel.json', () => {
    const printed = followed.printed('headland curl')
    assert.match(printed, /308[\s\S]*location: \/posts\/lamp\s[\s\S]* 200[\s\S]*x-frame-options: DENY/i)
  })

  test('the job is a schedule, and the site has the domain', async () => {
    assert.match(followed.printed('headland schedules'), /^rebuild +0 5 \* \* \* +Europe\/Berlin/m)
    assert.equal((await siteAnswer(service, 'http://www.customer.example')).status, 200)
  })

  test('the file with the secrets is gone, and was never sent', async () => {
    const listed = await followed.run('ls -A; headland deploy --list-files')
    assert.match(listed, /vercel\.json/)
    assert.doesNotMatch(listed, /\.env/)
  })
})

describe('docs/tutorials/migrate-netlify.md', () => {
  let followed: Followed
  before(async () => {
    followed = await followTutorial(file, service, 'docs/tutorials/migrate-netlify.md', (page) => ({
      'package.json': JSON.stringify(BUILD),
      'build.mjs': buildInto('generated', {
        'index.html': '$CMS_TOKEN|$GREETING|$URL|$CONTEXT',
        'about.html': '<h1>About</h1>',
        'products/lamp.html': '<h1>Lamp</h1>',
        _redirects: page.block('redirects'),
        _headers: page.block('headers'),
      }),
      'netlify.toml': page.block('toml'),
      'variables.json': page.block('json'),
    }))
  })

  after(() => followed.run('headland domains remove customer.example www.customer.example'))

  test('the build finds each value as it was at Netlify, and those that it set itself', async () => {
    const { text } = await siteAnswer(service, followed.url)
    assert.equal(text, 's3cret#with-a-hash|hello\nfrom two lines|https://www.customer.example|production')
  })

  test('the log says what the page says: the folder of netlify.toml, and the rules', async () => {
    const printed = await followed.run('headland rebuild 2>&1')
    for (const line of followed.page.blocks('console')[1]?.trim().split('\n') ?? assert.fail('the page shows the log'))
      assert.ok(printed.includes(line), `${line} is not in\n${printed}`)
    assert.doesNotMatch(printed, /Warning/)
  })

  test('redirects, rewrites and headers are those of the three files', () => {
    const printed = followed.printed('headland curl')
    assert.match(printed, /301[\s\S]*location: \/products\/lamp\s[\s\S]*301[\s\S]*location: \/about\s/i)
    assert.match(printed, /<h1>About<\/h1>/)
    assert.match(printed, / 200[\s\S]*cache-control: public, max-age=60/i)
    assert.match(printed, /x-frame-options: DENY/i)
  })

  test('a call as the CMS makes it to a build hook starts a build', () => {
    assert.equal(JSON.parse(followed.printed('curl --fail-with-body')).metadata.trigger, 'REBUILD')
    assert.match(followed.printed('headland webhooks show'), /WEBHOOK.*curl/)
  })

  test('the site has the domain, and the other name redirects to it', async () => {
    assert.equal((await siteAnswer(service, 'http://www.customer.example')).status, 200)
    const { status, headers } = await siteAnswer(service, 'http://customer.example', '/about')
    assert.deepEqual([status, headers.location], [308, '//www.customer.example/about'])
  })
})

describe('docs/tutorials/migrate-wp-engine.md', () => {
  let followed: Followed
  before(async () => {
    followed = await followTutorial(file, service, 'docs/tutorials/migrate-wp-engine.md', (page) => ({
      'package.json': JSON.stringify({
        scripts: { build: 'exit 1', 'wpe-build': 'node build.mjs', start: 'node server.mjs' },
      }),
      'build.mjs': buildInto('built', { 'page.html': '$NEXT_PUBLIC_SITE_NAME reads $NEXT_PUBLIC_WORDPRESS_URL' }),
      'server.mjs': `
        import { readFileSync } from 'node:fs'
        import { createServer } from 'node:http'
        const page = readFileSync('built/page.html', 'utf8')
        const { FAUST_SECRET_KEY, HEADLESS_CMS_URL, PORT } = process.env
        createServer((request, response) => {
          response.setHeader('Cache-Control', 's-maxage=3600')
          response.end([page, FAUST_SECRET_KEY, HEADLESS_CMS_URL, process.pid].join(' | '))
        }).listen(PORT)
      `,
      'variables.env': page.block('ini'),
    }))
  })

  test('the script wpe-build builds it, with the address of WordPress and the variables', () => {
    assert.match(
      followed.printed('headland curl'),
      /^Acme & Sons reads https:\/\/cms\.example\.com \| 0b8c2a8e-\S+ \| https:\/\/cms\.example\.com \| \d+/,
    )
  })

  test('the three URLs have the form of those of WP Engine, and each call is answered at once', () => {
    const urls = followed.printed('urlOf cleanRebuild').trim().split('\n')
    for (const [at, action] of ['rebuild', 'cleanRebuild', 'purgeCache'].entries())
      assert.match(
        urls[at] ?? '',
        new RegExp(`/wh/v1/accounts/default/apps/front/environments/[^/]+/webhooks/webhook:${action}\\?token=[\\w-]+$`),
      )
    const called = followed.printed('curl --fail-with-body')
    assert.match(called, /"trigger":"PURGE_CACHE"[\s\S]*"trigger":"REBUILD"/)
    assert.match(called, /WEBHOOK.*curl/)
  })

  test('the front end has the domain', async () => {
    assert.match((await siteAnswer(service, 'http://www.customer.example')).text, /^Acme & Sons/)
  })
})
