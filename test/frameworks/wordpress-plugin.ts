/**
 * The WordPress plugin in a real WordPress, calling a small server in place of Headland. Takes half a minute:
 * `npm run test:frameworks`.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { after, describe, type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { type Handle, startHook, startSilentServer, TOKEN, takes } from '../support/edge/hook.ts'
import { pluginIn } from '../support/service/plugin.ts'
import { addAddress, PLUGIN, phpText, startWordPress, type WordPress } from '../support/service/wordpress.ts'
import { until } from '../support/until.ts'

const ends: (() => unknown)[] = []
const file = { after: (end: () => unknown) => void ends.unshift(end) }
after(async () => {
  for (const end of ends) await end()
})
const isRoot = process.getuid?.() === 0
const skip = isRoot ? false : 'only root can give this machine one more address'

describe('the plugin in a real WordPress', { skip }, async () => {
  if (!isRoot) return
  const wordpress: WordPress = await startWordPress(file, { address: await addAddress(file) })

  const { start, quiet, lastCall } = pluginIn(wordpress)

  test('every file of the plugin is valid PHP', async () => {
    const files = (await readdir(PLUGIN, { recursive: true })).filter((name) => name.endsWith('.php'))
    assert.ok(files.length > 5)
    for (const name of files) await promisify(execFile)('php', ['-l', join(PLUGIN, name)])
  })

  test('one publish is one call: a POST that names the post and its terms, and without the token in its headers', async (t) => {
    let body: Promise<unknown> | undefined
    const { calls } = await start(t, {
      handle(response, _count, request) {
        body = json(request).finally(() => takes(response))
      },
    })
    const id = await wordpress.publish('One')
    await until(() => calls.length === 1, 'the call')
    await quiet()
    const [call] = calls
    assert.equal(calls.length, 1)
    assert.equal(call?.method, 'POST')
    assert.equal(call?.url, `/wh/webhooks/webhook:rebuild?token=${TOKEN}`)
    const { headland, content } = (await body) as { headland: number; content: string[] }
    assert.equal(headland, 1)
    assert.deepEqual(content.sort(), [`wp:post:${id}@post`, 'wp:term:1@category'])
    assert.doesNotMatch(JSON.stringify(call?.headers), /Secret/)
    const { ok, code, operation, counts } = await lastCall()
    assert.deepEqual([ok, code, operation, counts], [true, 200, 'accounts/a/operations/op-1', { publish: 1 }])
  })

  test('a burst of saves in several requests, one after another and at once, is one call', async (t) => {
    const { calls } = await start(t, { quiet: 4 })
    for (const title of ['a', 'b']) await wordpress.publish(title)
    await Promise.all(['c', 'd', 'e', 'f'].map(wordpress.publish))
    await until(() => calls.length > 0, 'the call')
    await quiet()
    assert.equal(calls.length, 1)
    assert.deepEqual((await lastCall()).counts, { publish: 6 })
  })

  test('changes that never stop are sent after the longest wait', async (t) => {
    const { calls } = await start(t, { quiet: 300, longest: 1 })
    await wordpress.publish('a')
    await until(() => calls.length === 1, 'the call')
  })

  test('a bulk edit of ten posts is one call for ten changes', async (t) => {
    await wordpress.setOptions({ url: '' })
    const ids: number[] = []
    for (let count = 0; count < 10; count++) ids.push(await wordpress.publish(`bulk ${count}`))
    const { calls } = await start(t)
    await wordpress.bulkEdit(ids)
    await until(() => calls.length > 0, 'the call')
    await quiet()
    assert.equal(calls.length, 1)
    assert.deepEqual((await lastCall()).counts, { update: 10 })
  })

  test('drafts, autosaves, revisions and post types that are not selected are not recorded', async (t) => {
    await start(t, { actions: ['publish', 'update', 'unpublish'], post_types: ['post'] })
    const published = await wordpress.rest('posts')
    const id = await wordpress.draft('draft')
    await wordpress.update(id, 'still a draft')
    await wordpress.rest(`posts/${id}/autosaves`, { title: 'autosave of a draft' })
    await wordpress.rest(`posts/${published[0].id}/autosaves`, { title: 'autosave of a post', content: 'y' })
    await wordpress.rest(`posts/${id}`, undefined, 'DELETE')
    await wordpress.rest(`posts/${id}?force=true`, undefined, 'DELETE')
    await wordpress.rest('pages', { title: 'a page', status: 'publish' })
    await wordpress.rest('categories', { name: `category ${Date.now()}` })
    const { counts, worker } = await wordpress.state()
    assert.deepEqual([counts, worker], [[], ''])
    assert.equal(await wordpress.lastCall(), false)
  })

  test('trashed and deleted published posts, terms and menus are recorded, each by its kind', async (t) => {
    await start(t, { quiet: 300 })
    const [trashed, deleted] = [await wordpress.publish('to be trashed'), await wordpress.publish('to be deleted')]
    await wordpress.trash(trashed)
    await wordpress.rest(`posts/${trashed}?force=true`, undefined, 'DELETE')
    await wordpress.rest(`posts/${deleted}?force=true`, undefined, 'DELETE')
    const { id } = await wordpress.rest('tags', { name: `tag ${Date.now()}` })
    await wordpress.rest(`tags/${id}`, { name: `renamed ${Date.now()}` })
    await wordpress.rest(`tags/${id}?force=true`, undefined, 'DELETE')
    await wordpress.inWordPress(`require 'wp-load.php'; wp_update_nav_menu_object(0, ['menu-name' => uniqid()]);`)
    assert.deepEqual((await wordpress.state()).counts, { publish: 2, unpublish: 2, terms: 3, menus: 1 })
    await wordpress.setOptions({ url: '' })
  })

  test('no save is delayed by a Headland that does not answer, and changes saved meanwhile lead to another call', async (t) => {
    const held: ServerResponse[] = []
    const { calls } = await start(t, { quiet: 0, handle: (response) => void held.push(response) })
    await wordpress.publish('first')
    await until(() => calls.length === 1, 'the call is open')
    await wordpress.publish('second')
    // Both saves were answered, and the first call still waits for its response.
    assert.deepEqual([held.length, held[0]?.writableEnded, held[0]?.destroyed], [1, false, false])
    takes(held[0] as ServerResponse, 1)
    await until(() => held.length === 2, 'the call for the second')
    takes(held[1] as ServerResponse, 2)
    await quiet()
    assert.deepEqual([calls.length, (await lastCall()).counts], [2, { publish: 1 }])
  })

  test('no save is delayed if WordPress cannot call itself, and then WP-Cron makes the call', async (t) => {
    const { calls } = await start(t, { quiet: 0 })
    const open = await startSilentServer(t)
    await wordpress.addMustUse(
      t,
      'no-loopback',
      `add_filter('headland_worker_url', fn() => 'http://127.0.0.1:${open.port}/');`,
    )
    await wordpress.publish('without a worker')
    assert.equal(open.sockets.length, 1, 'it tried')
    assert.equal(calls.length, 0)
    assert.deepEqual((await wordpress.state()).counts, { publish: 1 })
    await wordpress.runCron()
    assert.equal(calls.length, 1)
  })

  test('if PHP can finish the response early, as PHP-FPM can, the saving request makes the call itself', async (t) => {
    const { calls } = await start(t, { quiet: 0 })
    const open = await startSilentServer(t)
    await wordpress.addMustUse(
      t,
      'finishes',
      `function fastcgi_finish_request() { return true; }
      add_filter('headland_worker_url', fn() => 'http://127.0.0.1:${open.port}/');`,
    )
    await wordpress.publish('after the answer')
    await until(() => calls.length === 1, 'the call')
    await quiet()
    assert.equal(open.sockets.length, 1)
  })

  test('WP-Cron sends what a dead worker left, and not while the worker may be alive', async (t) => {
    const { calls } = await start(t, { quiet: 0 })
    const leave = (until: string) =>
      wordpress.inWordPress(`require 'wp-load.php'; headland_change_state(function ($state) {
        $state = headland_with_changes($state, ['update' => 1], microtime(true));
        return headland_with_worker($state, 'another', ${until});
      }); headland_schedule_cron();`)
    await leave('microtime(true) + 30')
    await wordpress.runCron()
    assert.equal(calls.length, 0)
    await leave('microtime(true) - 1')
    await wordpress.runCron()
    assert.deepEqual([calls.length, (await lastCall()).counts], [1, { update: 2 }])
  })

  test('changes of a request that dies half-way are not lost', async (t) => {
    const { calls } = await start(t, { quiet: 0 })
    const dies = `require 'wp-load.php';
      wp_insert_post(['post_title' => 'before the end', 'post_status' => 'publish']); posix_kill(getmypid(), SIGKILL);`
    await assert.rejects(wordpress.inWordPress(dies))
    assert.equal(calls.length, 0)
    await wordpress.runCron()
    assert.equal(calls.length, 1)
  })

  test('a worker that has waited long hands over to a new one', async (t) => {
    const { calls } = await start(t, { quiet: 1 })
    const handsOver = `require 'wp-load.php'; $worker = headland_take_lease();
      headland_change_state(fn($state) => headland_with_changes($state, ['update' => 3], microtime(true)));
      echo headland_hand_over($worker) ? 'done' : 'not', ' ', headland_read_state()['worker'] === $worker ? 'mine' : 'gone';`
    assert.equal(await wordpress.inWordPress(handsOver), 'done gone')
    await until(() => calls.length === 1, 'the call')
    await quiet()
    assert.deepEqual((await lastCall()).counts, { update: 3 })
  })

  test('a call that took so long that another worker took over does not affect later changes', async (t) => {
    const { calls } = await start(t, { quiet: 0 })
    const late = `require 'wp-load.php'; $worker = headland_take_lease();
      $one = fn($state) => headland_with_changes($state, ['update' => 1], microtime(true));
      headland_change_state($one);
      $before = headland_read_state();
      headland_change_state(fn($state) => headland_with_worker($state, 'another', microtime(true) + 30));
      headland_send($worker, headland_settings(), $before);`
    await wordpress.inWordPress(late)
    assert.equal(calls.length, 1)
    assert.deepEqual((await wordpress.state()).counts, { update: 1 })
    await wordpress.setOptions({ url: '' })
  })

  test('concurrent processes that record changes lose none', async (t) => {
    await start(t, { quiet: 300 })
    const note = `require 'wp-load.php';
      for ($count = 0; $count < 100; $count++) headland_change_state(fn($state) => headland_with_changes($state, ['update' => 1], microtime(true)));`
    await Promise.all(Array.from({ length: 6 }, () => wordpress.inWordPress(note)))
    assert.deepEqual((await wordpress.state()).counts, { update: 600 })
    await wordpress.setOptions({ url: '' })
  })

  const fast = (t: TestContext) =>
    wordpress.addMustUse(t, 'fast', `add_filter('headland_retry_waits', fn() => [0, 0, 0]);`)

  test('a failed call is tried again, and Retry-After is respected', async (t) => {
    await fast(t)
    const answers: Handle[] = [
      (response) => response.writeHead(503).end(),
      (response) => response.writeHead(429, { 'retry-after': '1' }).end(),
      (response) => response.destroy(),
      takes,
    ]
    const { calls } = await start(t, {
      handle: (response, count, request) => answers[count - 1]?.(response, count, request),
    })
    await wordpress.publish('tried again')
    await until(() => calls.length === 4, 'the calls')
    await quiet()
    assert.deepEqual([calls.length, (await lastCall()).ok], [4, true])
  })

  test('after three retries the call is given up and shown, and the next change tries it again', async (t) => {
    await fast(t)
    let isDown = true
    const handle: Handle = (response, count) => (isDown ? response.writeHead(502).end() : takes(response, count))
    const { calls } = await start(t, { handle })
    await wordpress.publish('given up')
    await until(async () => (await wordpress.state()).resting, 'given up')
    await quiet()
    assert.equal(calls.length, 4)
    assert.match(await wordpress.admin('edit.php'), /The headless front end was not rebuilt\. Failed \(HTTP 502\)/)
    isDown = false
    await wordpress.publish('taken up')
    await until(async () => (await lastCall()).ok, 'the call')
    assert.deepEqual((await lastCall()).counts, { publish: 2 })
    assert.doesNotMatch(await wordpress.admin('edit.php'), /was not rebuilt/)
  })

  test('a token that is no longer valid is not tried again; with a new URL it is', async (t) => {
    await fast(t)
    const { calls, url } = await start(t, { handle: (response) => response.writeHead(401).end() })
    await wordpress.publish('refused')
    await until(async () => (await wordpress.state()).resting, 'given up')
    assert.equal(calls.length, 1)
    assert.match(
      await wordpress.admin('index.php'),
      /Failed \(HTTP 401\): The URL is no longer valid: copy the current one from Headland\./,
    )
    const other = await startHook(t)
    assert.notEqual(other.url, url)
    await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: `127.0.0.1:${other.port}` })
    await saveSettings({ 'headland_settings[url]': other.url })
    await until(() => other.calls.length === 1, 'the call')
  })

  async function saveSettings(fields: Record<string, string>) {
    const page = await wordpress.admin('options-general.php?page=headland')
    const [, nonce = ''] = /name="_wpnonce" value="(\w+)"/.exec(page) ?? []
    return wordpress.admin('options.php', {
      ...{ option_page: 'headland', action: 'update', _wpnonce: nonce },
      ...{ _wp_http_referer: '/wp-admin/options-general.php?page=headland' },
      ...{ 'headland_settings[actions][]': 'publish', 'headland_settings[quiet]': '1', ...fields },
    })
  }

  test('the settings page keeps the URL as entered, limits the numbers, and refuses an invalid URL', async (t) => {
    const { url } = await start(t)
    const given = {
      'headland_settings[url]': ` ${url} `,
      'headland_settings[quiet]': '-7',
      'headland_settings[longest]': '9999',
    }
    await saveSettings(given)
    const expected = { url, actions: ['publish'], post_types: null, quiet: 0, longest: 900 }
    assert.deepEqual(await wordpress.read('headland_settings()'), expected)
    for (const bad of ['javascript:alert(1)', 'ftp://headland.test/x', 'http://']) {
      const page = await saveSettings({ ...given, 'headland_settings[url]': bad })
      assert.match(page, /The webhook URL was not saved/, bad)
      assert.deepEqual(await wordpress.read('headland_settings()'), expected)
    }
    const autoload = `$GLOBALS['wpdb']->get_col("SELECT DISTINCT autoload FROM {$GLOBALS['wpdb']->options} WHERE option_name LIKE 'headland%'")`
    assert.deepEqual(await wordpress.read(autoload), ['no'])
  })

  test('a private address is refused with the line to add, and the line allows only that host and port', async (t) => {
    const { calls, url, port } = await start(t)
    await wordpress.setConstants({})
    await wordpress.publish('refused')
    await until(async () => (await wordpress.state()).resting, 'given up')
    assert.equal(calls.length, 0)
    const words = `WordPress does not call 127.0.0.1:${port}: the address is private, or the port is none of 80, 443 and 8080.`
    const line = `define( 'HEADLAND_ALLOW_PRIVATE_ADDRESS', '127.0.0.1:${port}' );`
    const what = `If it is yours, add the line ${line} to wp-config.php, or this place to those that stand there.`
    assert.equal((await lastCall()).message, `${words} ${what}`)
    await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: `headland.internal:443, 127.0.0.1:${port}` })
    const places = [
      url,
      `http://127.0.0.1:${port + 1}/`,
      `http://127.0.0.2:${port}/`,
      'http://127.0.0.2/',
      'http://192.168.0.1/',
    ]
    const inside = (at: string) =>
      `array_map(fn($place) => (bool) wp_http_validate_url($place), json_decode(${phpText(at)}))`
    const opened = await wordpress.read(`headland_at_place(${phpText(url)}, fn() => ${inside(JSON.stringify(places))})`)
    assert.deepEqual(opened, [true, false, false, false, false])
    assert.deepEqual(await wordpress.read(inside(JSON.stringify([url]))), [false], 'only around the call')
    await wordpress.publish('allowed')
    await until(() => calls.length === 1, 'the call')
  })

  test('whatever URL the administrator of a site types, only private addresses that the operator listed are called', async (t) => {
    const { url, port } = await start(t)
    const typed = [
      `http://127.0.0.1:${port + 1}/`,
      `http://127.0.0.2:${port}/`,
      `http://localhost:${port}/`,
      `http://2130706433:${port}/`,
      `http://0x7f.1/`,
      'http://127.0.0.1/',
      'http://169.254.169.254/latest/meta-data/',
      'http://100.100.100.200/',
      'http://10.0.0.1:443/',
      'http://[::1]/',
    ]
    const called = (urls: string[]): Promise<boolean[]> =>
      wordpress.read(
        `array_map(fn($url) => headland_at_place($url, fn() => true) === true, json_decode(${phpText(JSON.stringify(urls))}))`,
      )
    assert.deepEqual(await called([url, ...typed]), [true, ...typed.map(() => false)])
    assert.deepEqual(
      await called(['http://192.0.2.7/', 'https://198.51.100.7/']),
      [true, true],
      'a public one is called',
    )
    for (const wrong of [true, 1, '127.0.0.1', '*:*', `127.0.0.1:${port}x`, [true, port]]) {
      await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: wrong })
      assert.deepEqual(await called([url]), [false], JSON.stringify(wrong))
    }
    await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: ['10.0.0.1:1', `127.0.0.1:${port}`] })
    assert.deepEqual(await called([url]), [true])
    await wordpress.setConstants({ HEADLAND_ALLOW_PRIVATE_ADDRESS: true })
    const page = await wordpress.admin('index.php')
    assert.match(page, /HEADLAND_ALLOW_PRIVATE_ADDRESS opens nothing as it stands.*192\.168\.1\.20:3000/)
  })

  test('a name that resolves differently a moment later is called at the address that was checked', async (t) => {
    const { calls, port } = await start(t)
    // The name has no address at all when the call is made.
    const code = (transport: string) =>
      `headland_with_address('http://rebound.invalid:${port}/x', '127.0.0.1', function () { ${transport} })`
    const post = `return wp_remote_retrieve_response_code(wp_remote_post('http://rebound.invalid:${port}/x'));`
    assert.equal(await wordpress.read(code(post)), 200)
    assert.equal(calls.length, 1)
    const socket = (at: string) =>
      `$socket = '${at}'; do_action_ref_array('requests-fsockopen.remote_socket', array(&$socket)); return $socket;`
    assert.equal(await wordpress.read(code(socket(`tcp://rebound.invalid:${port}`))), `tcp://127.0.0.1:${port}`)
    assert.equal(await wordpress.read(code(socket('ssl://rebound.invalid:443'))), 'ssl://rebound.invalid:443')
    const after = `(function () { ${socket('tcp://rebound.invalid:80')} })()`
    assert.equal(await wordpress.read(after), 'tcp://rebound.invalid:80', 'only around the call')
  })

  test('the dashboard shows the last call and pending changes, and the button calls at once', async (t) => {
    const { calls } = await start(t, { quiet: 300 })
    assert.match(await wordpress.admin('index.php'), /Last call:<\/strong> <span[^>]*>none yet/)
    await wordpress.publish('waits')
    const page = await wordpress.admin('index.php')
    assert.match(page, /Waiting:<\/strong> <span[^>]*>1 change, sent after the quiet period/)
    const [, nonce = ''] =
      /id="_wpnonce" name="_wpnonce" value="(\w+)"[^>]*><input type="hidden" name="_wp_http_referer"[^>]*><input type="submit" name="headland_rebuild"/.exec(
        page,
      ) ?? []
    const pressed = await wordpress.admin('admin-post.php', { action: 'headland_rebuild', _wpnonce: nonce })
    assert.match(pressed, /<title>Dashboard/)
    await until(() => calls.length === 1, 'the call')
    await quiet()
    const after = await wordpress.admin('index.php')
    assert.match(after, /Headland took it \(HTTP 200\)\. It stood for 2 changes\./)
    assert.match(after, /accounts\/a\/operations\/op-1/)
    assert.match(after, /Waiting:<\/strong> <span[^>]*>nothing/)
    assert.equal(calls.length, 1)
  })

  test('a caller without a nonce, a capability or a key starts nothing', async (t) => {
    const { calls } = await start(t, { quiet: 300 })
    await wordpress.publish('waits')
    await assert.rejects(wordpress.admin('admin-post.php', { action: 'headland_rebuild' }), /403/)
    const ajax = (fields: Record<string, string>) =>
      fetch(`${wordpress.url}/wp-admin/admin-ajax.php`, {
        method: 'POST',
        body: new URLSearchParams({ action: 'headland_work', ...fields }),
      })
    const time = String(Math.floor(Date.now() / 1000))
    for (const fields of [{}, { time, key: '' }, { time, key: 'a'.repeat(32) }]) {
      assert.equal((await ajax(fields as Record<string, string>)).status, 403)
    }
    const old = String(Number(time) - 3600)
    const key = await wordpress.read(`wp_hash('headland_work${old}', 'nonce')`)
    assert.equal((await ajax({ time: old, key })).status, 403, 'a key of an hour ago')
    const stranger = await fetch(`${wordpress.url}/wp-admin/admin-post.php?action=headland_rebuild`)
    assert.equal(stranger.status, 400)
    const asSubscriber = `define('WP_ADMIN', true); require 'wp-load.php';
      wp_set_current_user(wp_insert_user(['user_login' => uniqid(), 'user_pass' => 'x', 'role' => 'subscriber']));
      $_REQUEST['_wpnonce'] = wp_create_nonce('headland_rebuild'); do_action('admin_post_headland_rebuild');`
    assert.match(await wordpress.inWordPress(asSubscriber), /You may not do this/)
    assert.equal(calls.length, 0)
    await wordpress.setOptions({ url: '' })
  })

  test('the command calls at once and prints the result', async (t) => {
    let isDown = false
    const handle: Handle = (response, count) => (isDown ? response.writeHead(404).end() : takes(response, count))
    const { calls } = await start(t, { handle })
    const command = `class WP_CLI {
        static function add_command($name, $call) { $GLOBALS['command'] = [$name, $call]; }
        static function success($text) { echo "good: $text"; }
        static function error($text) { echo "bad: $text"; exit; }
      }
      define('WP_CLI', true); require 'wp-load.php'; echo $GLOBALS['command'][0], ': '; $GLOBALS['command'][1]();`
    const good = 'headland rebuild: good: Headland took it (HTTP 200). accounts/a/operations/op-1'
    assert.equal(await wordpress.inWordPress(command), good)
    isDown = true
    assert.equal(await wordpress.inWordPress(command), 'headland rebuild: bad: Headland did not take the call.')
    assert.equal(calls.length, 2)
  })

  test('the token is only in the one field of the settings page, and not in the log of PHP', async (t) => {
    const { url } = await start(t, { handle: (response) => response.destroy() })
    await fast(t)
    await wordpress.publish('fails')
    await until(async () => (await wordpress.state()).resting, 'given up')
    for (const path of ['index.php', 'edit.php', 'plugins.php', 'options.php']) {
      assert.doesNotMatch(await wordpress.admin(path), /Secret-of/, path)
    }
    const page = await wordpress.admin('options-general.php?page=headland')
    assert.equal(page.split('Secret-of').length, 2)
    assert.match(page, new RegExp(`<input type="password"[^>]*value="${url.replaceAll(/[?.]/g, '\\$&')}"`))
    assert.doesNotMatch(await wordpress.log(), /Secret-of/)
    assert.doesNotMatch(await wordpress.log(), /plugins\/headland/, 'and PHP logs nothing about the plugin')
  })

  test('an uninstall leaves nothing behind', async (t) => {
    await start(t)
    await wordpress.publish('leaves an event')
    await quiet()
    await wordpress.inWordPress(
      `define('WP_UNINSTALL_PLUGIN', 'headland/headland.php'); require 'wp-load.php'; require '${PLUGIN}/uninstall.php';`,
    )
    const left = `$GLOBALS['wpdb']->get_col("SELECT option_name FROM {$GLOBALS['wpdb']->options} WHERE option_name LIKE '%headland%' OR (option_name = 'cron' AND option_value LIKE '%headland%')")`
    assert.deepEqual(await wordpress.read(left), [])
  })
})
