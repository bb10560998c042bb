/**
 * Every command of the README, the guides and the operator's pages runs as written, with the result that the page
 * describes. One service for all of them; each page has an app of its own.
 */
import assert from 'node:assert/strict'
import { access, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { temporaryFolder } from '../../support/folder.ts'
import {
  commandsOf,
  guidePages,
  readPage,
  runBlocks,
  type Shell,
  shellIn,
  TOP,
  TUTORIALS,
  type Typed,
  typeBlocks,
} from '../../support/guides.ts'
import { databaseSettings } from '../../support/postgres/databases.ts'
import { deploy, nodeServer, page as pageOf } from '../../support/service/deploy.ts'
import { createApp, createEnvironment, siteAnswer } from '../../support/service/environment.ts'
import { startService } from '../../support/service/service.ts'

/** The input of commands that ask for a secret. */
const SECRET = 's3cret-token'

const service = await startService({ after })
const as = await service.login()

type Ground = { shell: Shell; environment: string; url: string }

type Guide = {
  /** What exists before the first command. */
  ground: 'an environment' | 'a live page' | 'a live server' | 'a project' | 'the checkout'
  /** Answers to the questions of the commands, which then run in a terminal. */
  typed?: () => Typed[]
  /** Gets the output of each block; of a terminal, all output in one text. */
  see(printed: string[], ground: Ground): unknown
}

const actionsOf = (text: string): string[] =>
  [...text.matchAll(/webhook:(\w+)\?token=/g)].map(([, action = '']) => action)
const ACTIONS = ['rebuild', 'cleanRebuild', 'purgeCache']

async function domainsOf(environment: string): Promise<string[]> {
  return (await service.call(`/v1/${environment}/domains`, { as })).json.domains
}

async function variablesOf(environment: string): Promise<Record<string, string>> {
  const { json } = await service.call(`/v1/${environment}?view=FULL`, { as })
  return Object.fromEntries(json.shellVariables.map(({ key, value }: { key: string; value: string }) => [key, value]))
}

async function namesOfEnvironments(environment: string): Promise<string[]> {
  const { json } = await service.call(`/v1/${environment.replace(/\/[^/]+$/, '')}`, { as })
  return json.environments.map(({ displayName }: { displayName: string }) => displayName).sort()
}

/** What a reader types who has no settings yet: who they are, and Enter for everything else. */
const answers = (): Typed[] => [
  [/E-mail address[^\n]*: $/, 'owner@localhost'],
  [/Password: $/, service.owner().password],
  [/(?:\]: |\[Y\/n\] )$/, ''],
]

const GUIDES: Record<string, Guide> = {
  'README.md': {
    ground: 'the checkout',
    typed: answers,
    async see([printed = '']) {
      const [url = ''] = printed.match(/http:\/\/[\w-]+\.localhost:\d+/g) ?? []
      assert.equal((await siteAnswer(service, url)).text, 'Hello from Node\n')
    },
  },
  'docs/guides/first-deploy.md': {
    ground: 'the checkout',
    typed: answers,
    async see([printed = '']) {
      const [url = ''] = printed.match(/http:\/\/my-first-site[\w-]*\.localhost:\d+/g) ?? []
      assert.equal((await siteAnswer(service, url)).text, 'Hello from Node\n', 'after going back')
      assert.match(printed, /is live at/)
    },
  },
  'docs/guides/api.md': {
    ground: 'the checkout',
    async see([, , environment = '', waited = '', uploaded = '', log = '', all = '', now = '', rest = '', twice = '']) {
      assert.match(environment, /"done":false/)
      assert.match(waited, /"done":true/)
      const url = /"done":true.*"url":"([^"]+)"/.exec(uploaded)?.[1] ?? ''
      assert.equal((await siteAnswer(service, url)).text, 'hello from Node\n')
      assert.match(log, /SWITCHING service Live after /)
      assert.match(all, /"environments":\[.*"latestBuild":\{/)
      assert.match(now, /"operations":\[.*"trafficSummaries":\[/s)
      assert.match(rest, /"trigger":"REBUILD".*"deployments":\[/s)
      assert.match(twice, /"trigger":"UPDATE".*"reason":"ETAG_MISMATCH"/s)
    },
  },
  'docs/guides/deploy.md': {
    ground: 'a project',
    async see([
      first = '',
      withVariables = '',
      listed = '',
      settings = '',
      ,
      built = '',
      glance = '',
      operations = '',
      failed = '',
      back = '',
      ,
      credentials = '',
      last = '',
    ]) {
      const url = first.split('\n').at(-1) ?? ''
      assert.match((await siteAnswer(service, url)).text, /a server/)
      assert.equal(withVariables.split('\n').at(-1), url)
      assert.match(listed, /server\.js/)
      assert.doesNotMatch(listed, /\.headland\.json/)
      assert.match(settings, /^\.env\.production$/m)
      assert.match(built, /SUCCEEDED/)
      assert.match(glance, /^APP +ENVIRONMENT +STATE .*\n[\s\S]* live +\d[\s\S]*VISITS\/S/)
      assert.match(operations, /UPLOAD +DONE .*Larger pictures on the front page/)
      assert.match(failed, /SUCCEEDED/)
      assert.match(back, /LIVE/)
      assert.match(credentials, /[0-9a-f-]{36}/)
      assert.equal(JSON.parse(last).event, 'done')
      assert.equal(JSON.parse(last).url, url)
    },
  },
  'docs/guides/frameworks.md': {
    ground: 'a live server',
    see: ([plan = '']) => assert.match(plan, /node/),
  },
  'docs/guides/audit-log.md': {
    ground: 'a live page',
    see: ([printed = '']) => assert.match(printed, /UPLOAD .*environments\//),
  },
  'docs/guides/previews.md': {
    ground: 'a live page',
    async see([made = '', listed = '', settings = '', promoted = '', gone = ''], { url }) {
      const preview = made.match(/http:\/\/\S+/)?.[0] ?? ''
      assert.notEqual(preview, url)
      assert.match(listed, /^feature\/login /m)
      assert.match(settings, /secrets +included/)
      assert.match(promoted, /http:\/\//)
      assert.match(gone, /^PREVIEW|^$/)
    },
  },
  'docs/guides/checked-promotion.md': {
    ground: 'a live page',
    see: ([set = '', shown = '']) => {
      assert.match(set, /^promotion checks +block, 50 pages within 60 s/m)
      assert.match(shown, /^check +no broken page/m)
    },
  },
  'docs/guides/content-snapshots.md': {
    ground: 'a live page',
    see: ([printed = '']) => assert.match(printed, /^content snapshots +cms\.example\.com/m),
  },
  'docs/guides/schedules.md': {
    ground: 'a live page',
    see: ([printed = '']) => {
      assert.match(printed, /^rebuild +30 3 \* \* \* +Europe\/Berlin +20/m)
      assert.match(printed, /^purge +\*\/15 \* \* \* \* +UTC +20/m)
    },
  },
  'docs/guides/publish-times.md': {
    ground: 'a live page',
    see: ([printed = '']) => {
      assert.match(printed, /^20\S+ +UPLOAD +VISIBLE/m)
      assert.match(printed, /^build +call to visible +1 /m)
    },
  },
  'docs/guides/learned-caching.md': {
    ground: 'a live page',
    see: ([printed = '']) => assert.match(printed, /^learned caching +pages are kept for 3600 seconds$/m),
  },
  'docs/guides/notices.md': {
    ground: 'a live page',
    see: ([printed = '']) => {
      assert.match(printed, /^#site +slack +hooks\.slack\.com +build-failed/m)
      assert.match(printed, /^webhook +webhook +ops\.example\.com +build-failed build-live +on/m)
    },
  },
  'docs/guides/git-push.md': {
    ground: 'an environment',
    see([, pushed = '', detached = '']) {
      assert.match(pushed, /remote: Live: http/)
      assert.match(detached, /remote: Builds for Production: http/)
    },
  },
  'docs/guides/monorepos.md': {
    ground: 'an environment',
    async see(_, { environment }) {
      assert.deepEqual(await variablesOf(environment), { NPM_TOKEN: SECRET })
      assert.deepEqual(await namesOfEnvironments(environment), ['Test', 'Web'])
    },
  },
  'docs/guides/variables.md': {
    ground: 'a live server',
    async see([, , , , listed = ''], { environment }) {
      assert.match(listed, /^CMS_TOKEN +SECRET +\(hidden\)$/m)
      assert.match(listed, /^CMS_URL +PLAIN +https:\/\/cms\.example\.com$/m)
      assert.doesNotMatch(listed, new RegExp(SECRET))
      assert.deepEqual(await variablesOf(environment), {
        CMS_PASSWORD: 'two words',
        CMS_TOKEN: SECRET,
        CMS_URL: 'https://cms.example.com',
        CMS_USER: 'reader',
      })
    },
  },
  'docs/guides/webhooks.md': {
    ground: 'a live page',
    async see([, , called = '', became = '', byClock = '', , shown = ''], { environment }) {
      assert.equal(JSON.parse(called).metadata.trigger, 'REBUILD')
      assert.match(JSON.parse(became).state, /^(WAITING|BUILDING|LIVE)$/)
      assert.equal(JSON.parse(byClock).metadata.trigger, 'REBUILD')
      assert.match(shown, /WEBHOOK.*curl/)
      const set = (await service.call(`/v1/${environment}/webhooks`, { as })).json
      assert.deepEqual([set.quietSeconds, set.maxQuietSeconds], [10, 60])
    },
  },
  'docs/guides/wordpress.md': {
    ground: 'an environment',
    see: ([urls = '']) => assert.deepEqual(actionsOf(urls), ACTIONS),
  },
  'docs/guides/contentful.md': {
    ground: 'an environment',
    async see([urls = ''], { environment }) {
      assert.deepEqual(actionsOf(urls), ACTIONS)
      assert.equal((await variablesOf(environment)).CONTENTFUL_ACCESS_TOKEN, SECRET)
      assert.deepEqual(await namesOfEnvironments(environment), ['Preview', 'Test'])
    },
  },
  'docs/guides/sanity.md': {
    ground: 'an environment',
    async see([urls = ''], { environment }) {
      assert.deepEqual(actionsOf(urls), ACTIONS)
      assert.equal((await variablesOf(environment)).SANITY_DATASET, 'production')
      assert.deepEqual(await namesOfEnvironments(environment), ['Preview', 'Test'])
    },
  },
  'docs/guides/strapi.md': {
    ground: 'an environment',
    async see([urls = ''], { environment }) {
      assert.deepEqual(actionsOf(urls), ACTIONS)
      assert.equal((await variablesOf(environment)).STRAPI_TOKEN, SECRET)
      assert.deepEqual(await namesOfEnvironments(environment), ['Preview', 'Test'])
    },
  },
  'docs/guides/caching.md': {
    ground: 'a live page',
    async see([, , traced = ''], { environment }) {
      assert.match(traced, /^Visitors get the file \/index\.html/)
      const { json } = await service.call(`/v1/${environment}/triggers`, { as })
      assert.deepEqual(
        json.triggers.slice(0, 2).map(({ action }: { action: string }) => action),
        ['PURGE_CACHE', 'PURGE_CACHE'],
      )
    },
  },
  'docs/guides/freshness.md': {
    ground: 'a live page',
    see: ([traced = '']) => assert.match(traced, /^Visitors get the file \/index\.html/),
  },
  'docs/guides/wordpress-preview.md': {
    ground: 'an environment',
    async see(_, { environment }) {
      const { WORDPRESS_USER, WORDPRESS_APPLICATION_PASSWORD, PREVIEW_SECRET } = await variablesOf(environment)
      assert.deepEqual([WORDPRESS_USER, WORDPRESS_APPLICATION_PASSWORD], ['preview', SECRET])
      assert.match(PREVIEW_SECRET ?? '', /^[0-9a-f]{48}$/)
      assert.deepEqual(await namesOfEnvironments(environment), ['Preview', 'Test'])
    },
  },
  'docs/guides/domains.md': {
    ground: 'an environment',
    async see([, listed = ''], { environment }) {
      assert.match(listed, /www\.customer\.example/)
      assert.deepEqual(await domainsOf(environment), [])
    },
  },
  'docs/guides/https.md': {
    ground: 'an environment',
    // The service of this test gets none, and none was uploaded.
    see: (printed) => assert.deepEqual(printed, ['']),
  },
  'docs/operate/install.md': {
    ground: 'a live page',
    see([password = '', doctor = '', settings = '', people = '']) {
      assert.match(password, /owner@localhost/)
      assert.match(doctor, /bubblewrap/i)
      assert.match(settings, /dataDir/)
      assert.match(people, /acme/)
    },
  },
  'docs/operate/backup.md': {
    ground: 'a project',
    see: (_, { shell }) => access(join(shell.folder, 'restored/headland.db')),
  },
  'docs/operate/upgrade.md': {
    ground: 'a live page',
    see([before = '', , after = '']) {
      assert.match(before, /^\d+\.\d+\.\d+\n/)
      assert.match(after, /operate-upgrade/)
    },
  },
}

/** The machine of a reader who begins with that page. */
async function prepare(t: { after(end: () => unknown): void }, page: string, { ground }: Guide): Promise<Ground> {
  const place = await temporaryFolder(t)
  const [folder, home] = [join(place, 'project'), join(place, 'home')]
  await mkdir(folder)
  const environment = { HEADLAND_DATA_DIR: service.dataDir, ...(await databaseSettings(service.dataDir)) }
  if (ground === 'the checkout') {
    for (const part of ['bin', 'examples']) await symlink(join(TOP, part), join(folder, part))
    return { shell: await shellIn(folder, home, environment), environment: '', url: '' }
  }
  const named = {
    ...environment,
    HEADLAND_URL: service.api,
    HEADLAND_API_USER: as.userId,
    HEADLAND_API_PASSWORD: as.password,
  }
  const files = ground === 'a live server' || ground === 'a project' ? nodeServer('a server') : pageOf('a page')
  for (const [path, content] of Object.entries(files)) await writeFile(join(folder, path), content as string)
  const shell = await shellIn(folder, home, named)
  if (ground === 'a project') return { shell, environment: '', url: '' }
  const app = await createApp(service, as, {
    app: page
      .replace(/^docs\//, '')
      .replace(/\.md$/, '')
      .replaceAll('/', '-'),
  })
  const made = await createEnvironment(service, as, { app })
  if (ground !== 'an environment') assert.equal((await deploy(service, as, made.name, files)).error, undefined)
  const project = { url: service.api, account: 'default', app, environment: made.name.split('/').at(-1) }
  await writeFile(join(folder, '.headland.json'), JSON.stringify(project))
  return { shell, environment: made.name, url: made.url }
}

function testGuide(page: string, guide: Guide) {
  test(`the commands of ${page} do what it says`, async (t) => {
    const ground = await prepare(t, page, guide)
    const blocks = commandsOf(await readPage(page)).map((block) =>
      block.replaceAll('http://127.0.0.1:8080', service.api),
    )
    const printed = guide.typed
      ? [await typeBlocks(blocks, ground.shell, guide.typed())]
      : await runBlocks(blocks, ground.shell, SECRET)
    await guide.see(printed, ground)
  })
}

const isTyped = ([, { typed }]: [string, Guide]): boolean => typed !== undefined
// Separately: their readers have no settings yet, and the commands ask for them.
for (const [page, guide] of Object.entries(GUIDES).filter(isTyped)) testGuide(page, guide)
suite('beside one another', { concurrency: 2 }, () => {
  for (const [page, guide] of Object.entries(GUIDES)) if (!guide.typed) testGuide(page, guide)
})

/** Those of tutorials are run by the tests that docs-tutorials.test.ts looks for. */
test('no page has commands that nothing runs', async () => {
  const withCommands: string[] = []
  for (const page of (await guidePages()).filter((each) => !each.startsWith(`${TUTORIALS}/`)))
    if (commandsOf(await readPage(page)).length > 0) withCommands.push(page)
  assert.deepEqual(withCommands, Object.keys(GUIDES).sort())
})
