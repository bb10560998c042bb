/**
 * The tutorial about headless WordPress, run from its own commands with a real WordPress: what the page says about
 * WordPress' own pages is done by the test, between two blocks. Takes a minute: `npm run test:frameworks`.
 */
import assert from 'node:assert/strict'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { temporaryFolder } from '../support/folder.ts'
import { blocksOf, commandsOf, readPage, runBlocksWith, shellIn, TOP } from '../support/guides.ts'
import { siteAnswer } from '../support/service/environment.ts'
import { type Login, startService, type TestService } from '../support/service/service.ts'
import { addAddress, startWordPress, type WordPress } from '../support/service/wordpress.ts'

const PAGE = 'docs/tutorials/wordpress-nextjs.md'
const SITE = 'https://www.example.com'

const isRoot = process.getuid?.() === 0
const skip = isRoot ? false : 'only root can give this machine an address that builds reach'

describe('the tutorial about headless WordPress', { skip }, () => {
  const ends: (() => unknown)[] = []
  const file = { after: (end: () => unknown) => void ends.unshift(end) }
  let wordpress: WordPress
  let service: TestService
  let as: Login
  let page: string
  let blocks: string[]
  let printed: string[]

  const placeOf = (command: string): number => {
    const at = blocks.findIndex((block) => block.includes(command))
    return at === -1 ? assert.fail(`no block has ${command}`) : at
  }
  /** What the block with this command printed. */
  const of = (command: string): string => printed[placeOf(command)] ?? ''

  before(async () => {
    wordpress = await startWordPress(file, { address: await addAddress(file) })
    const allowed = `${wordpress.address}:${wordpress.port}`
    service = await startService(file, { settings: { HEADLAND_ALLOWED_NETWORKS: allowed } })
    await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: new URL(service.api).host })
    as = await service.login()
    const password = await wordpress.inWordPress(NEW_EDITOR)
    page = await readPage(PAGE)
    blocks = commandsOf(page).map((block) => block.replaceAll('https://cms.example.com', wordpress.url))
    printed = await runBlocksWith(blocks, await reader(), { input: `${password}\n`, between })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  /** A checkout of Headland, with a log-in to the service. */
  async function reader() {
    const place = await temporaryFolder(file)
    const folder = join(place, 'checkout')
    await mkdir(folder)
    await symlink(join(TOP, 'examples'), join(folder, 'examples'))
    return shellIn(folder, join(place, 'home'), {
      HEADLAND_URL: service.api,
      HEADLAND_API_USER: as.userId,
      HEADLAND_API_PASSWORD: as.password,
    })
  }

  /** What the reader does in WordPress. */
  async function between(before: readonly string[]) {
    const last = before.at(-1) ?? ''
    if (before.length === placeOf('webhooks create') + 1) {
      const [url] = /http\S+webhook:purgeCache\?token=\S+/.exec(last) ?? []
      await wordpress.setOptions({ url: url ?? assert.fail(last), quiet: 5 })
    }
    if (before.length === placeOf('PREVIEW_SECRET') + 1) {
      const [block] = blocksOf(page).filter(({ language }) => language === 'php')
      const code = (block?.text ?? '').replace('<?php', '').replace('…', last.split('\n').at(-1) ?? '')
      await wordpress.addMustUse(file, 'headless-preview', code)
    }
  }

  test('the site has the posts of WordPress, under its own name', async () => {
    assert.match(of('headland curl /\n'), /Hello world!/)
    assert.match((await siteAnswer(service, SITE)).text, /Hello world!/)
  })

  test('a published post is on the site, because WordPress has called', () => {
    assert.match(of('until headland curl'), /Fresh from the press$/)
    assert.match(of('headland webhooks show'), /WEBHOOK.*WordPress/)
  })

  test('nothing was built but the first deploy', async () => {
    const { environments } = (await service.call('/v1/accounts/default/apps/my-site/environments', { as })).json
    const { builds } = (await service.call(`/v1/${environments[0].name}/builds`, { as })).json
    assert.equal(builds.length, 1)
  })

  test('"Preview" in WordPress shows the draft to the editor, and to nobody else', async () => {
    const { id } = JSON.parse(of('status=draft'))
    const link = new URL(await wordpress.inWordPress(`require 'wp-load.php'; echo get_preview_post_link(${id});`))
    assert.equal(link.origin, SITE)
    const { status, headers } = await siteAnswer(service, SITE, link.pathname + link.search)
    assert.equal(status, 307)
    const cookie = [headers['set-cookie'] ?? []]
      .flat()
      .map((each) => each.split(';')[0])
      .join('; ')
    const path = String(headers.location)
    assert.match((await siteAnswer(service, SITE, path, { cookie })).text, /Not for everyone yet/)
    assert.equal((await siteAnswer(service, SITE, path)).status, 404)
  })

  test('the last commands say that the site is live', () => {
    assert.match(of('headland status'), / live /)
  })
})

/** A user with the role Editor, whose application password it prints. */
const NEW_EDITOR = `
require 'wp-load.php';
$id = wp_insert_user(['user_login' => 'preview', 'user_pass' => wp_generate_password(), 'role' => 'editor']);
[$password] = WP_Application_Passwords::create_new_application_password($id, ['name' => 'front end']);
echo $password;
`
