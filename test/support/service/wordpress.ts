/**
 * A real WordPress: Debian's, with its own MariaDB on a socket and PHP's built-in server, and our plugin in it. It lives in
 * a temporary folder and ends with the test.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { openSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../folder.ts'
import { killIfThere } from '../machine/process-tree.ts'
import { TIMEOUT_MS, until } from '../until.ts'

const SOURCE = '/usr/share/wordpress'
export const PLUGIN = fileURLToPath(new URL('../../../integrations/wordpress/headland', import.meta.url))
const ADMIN = { name: 'admin', password: 'admin-pass' }

export type PluginSettings = {
  url?: string
  actions?: string[]
  post_types?: string[]
  quiet?: number
  longest?: number
}

/** What the plugin stores about its last call. */
export type LastCall = {
  ok: boolean
  code: number
  message: string
  operation: string
  counts: Record<string, number>
  retry_at: number
}

/** What the dashboard shows about the last call. */
export type Progress = {
  last: string
  build: string
  links: { text: string; url: string }[]
  waiting: string
  done: boolean
  wait: number
}

export type WordPress = Awaited<ReturnType<typeof startWordPress>>

/** Adds an address to this machine, which needs root: builds do not reach 127.0.0.1. */
export async function addAddress(t: Scope): Promise<string> {
  const address = `198.19.${randomInt(256)}.${randomInt(1, 255)}`
  await promisify(execFile)('ip', ['addr', 'add', `${address}/32`, 'dev', 'lo'])
  t.after(() => promisify(execFile)('ip', ['addr', 'del', `${address}/32`, 'dev', 'lo']))
  return address
}

export async function startWordPress(t: Scope, { address }: { address: string }) {
  const folder = await temporaryFolder(t)
  const socket = join(folder, 'db.sock')
  assert.ok(Buffer.byteLength(socket) < 108, 'a socket has a short path')
  await startDatabase(t, folder, socket)

  const port = await freePort(address)
  const url = `http://${address}:${port}`
  const site = join(folder, 'site')
  const readPath = `/${randomUUID()}`
  await layOut(folder, site, { url, socket, readPath })
  await setConstants({})
  const applicationPassword = await inWordPress(INSTALL)
  await startPhp(t, folder, site, { address, port, url })

  let cookie: string | undefined

  /** Runs PHP in WordPress, as its command line would. Resolves to the output. */
  async function inWordPress(code: string): Promise<string> {
    const script = `$_SERVER['HTTP_HOST'] = '${address}:${port}'; $_SERVER['REQUEST_URI'] = '/'; ${code}`
    // Each process would compile WordPress, which takes four times as long as to run it.
    const compiled = { enable_cli: 1, file_cache: join(folder, 'compiled'), file_cache_only: 1 }
    const settings = [
      `error_log=${join(folder, 'php.log')}`,
      ...Object.entries(compiled).map(([name, value]) => `opcache.${name}=${value}`),
    ]
    const options = settings.flatMap((setting) => ['-d', setting])
    const { stdout } = await promisify(execFile)('php', [...options, '-r', script], { cwd: site, timeout: TIMEOUT_MS })
    return stdout
  }

  /** The same in a process of PHP's server, which costs far less: for what is read again and again, until it is as expected. */
  async function inServer(code: string): Promise<string> {
    const response = await fetch(`${url}${readPath}`, {
      method: 'POST',
      body: code,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await response.text()
    assert.ok(response.ok, `${code}: ${response.status} ${text.slice(0, 500)}`)
    return text
  }

  const read = async (code: string) => JSON.parse(await inServer(`echo wp_json_encode(${code});`))

  /** Constants of wp-config.php, from the next request on. */
  function setConstants(constants: Record<string, unknown>) {
    return writeFile(join(folder, 'constants.json'), JSON.stringify(constants))
  }

  /** WordPress' own REST API, as the administrator; like the block editor, it saves in one request. */
  async function rest(path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') {
    const response = await fetch(`${url}/wp-json/wp/v2/${path}`, {
      method,
      headers: {
        authorization: `Basic ${btoa(`${ADMIN.name}:${applicationPassword}`)}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
    return JSON.parse(text)
  }

  /** A page of wp-admin, as the administrator's browser gets it. */
  async function admin(path: string, form?: Record<string, string>, from = 'index.php') {
    cookie ??= await logIn(url)
    const response = await fetch(`${url}/wp-admin/${path}`, {
      method: form ? 'POST' : 'GET',
      headers: { cookie, referer: `${url}/wp-admin/${from}` },
      ...(form ? { body: new URLSearchParams(form) } : {}),
      redirect: 'follow',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await response.text()
    assert.equal(response.status, 200, `${path}: ${response.status} ${text.slice(0, 500)}`)
    return text
  }

  return {
    url,
    address,
    port,
    folder,
    /** Of the administrator, for the REST API. */
    applicationPassword,
    rest,
    admin,
    read,
    inWordPress,
    setConstants,
    publish: async (title: string): Promise<number> =>
      (await rest('posts', { title, content: 'x', status: 'publish' })).id,
    draft: async (title: string): Promise<number> => (await rest('posts', { title, status: 'draft' })).id,
    update: (id: number, title: string) => rest(`posts/${id}`, { title }),
    trash: (id: number) => rest(`posts/${id}`, undefined, 'DELETE'),

    /** The real bulk edit of the list of posts: one request that saves each of them. */
    async bulkEdit(ids: readonly number[]) {
      const [, nonce] = /name="_wpnonce" value="(\w+)"/.exec(await admin('edit.php')) ?? assert.fail('no list of posts')
      const query = new URLSearchParams({ action: 'edit', bulk_edit: 'Update', post_type: 'post', screen: 'edit-post' })
      for (const [key, value] of Object.entries({
        _status: '-1',
        comment_status: 'closed',
        ping_status: '',
        sticky: '',
      }))
        query.set(key, value)
      query.set('_wpnonce', nonce ?? '')
      for (const id of ids) query.append('post[]', String(id))
      const page = await admin(`edit.php?${query}`, undefined, 'edit.php')
      assert.match(page, new RegExp(`${ids.length} posts updated`))
    },

    /** What an open dashboard gets when it polls. */
    async progress(): Promise<Progress> {
      const [, nonce = assert.fail('the page has no script that asks')] =
        /headlandProgress = \{[^}]*"nonce":"(\w+)"/.exec(await admin('index.php')) ?? []
      return JSON.parse(await admin('admin-ajax.php', { action: 'headland_progress', _ajax_nonce: nonce })).data
    },

    /** The cookies of a logged-in browser. */
    logIn: () => logIn(url),

    lastCall: (): Promise<LastCall | false> => read(`get_option('headland_last_call')`),
    state: (): Promise<{ counts: Record<string, number> | []; worker: string; resting: boolean; tries: number }> =>
      read('headland_read_state()'),

    /** Sets the plugin's settings and clears its state. */
    async setOptions(settings: PluginSettings) {
      const given = JSON.stringify({ quiet: 1, longest: 60, ...settings })
      await inServer(`
        foreach (['headland_settings', 'headland_state', 'headland_last_call', 'headland_progress'] as $name) delete_option($name);
        wp_clear_scheduled_hook('headland_cron');
        add_option('headland_settings', json_decode(${phpText(given)}, true), '', 'no');`)
    },

    /** A file of wp-content/mu-plugins: PHP that every request runs. Removed when the test is over. */
    async addMustUse(scope: Scope, name: string, code: string) {
      const path = join(site, 'wp-content/mu-plugins', `${name}.php`)
      await writeFile(path, `<?php ${code}`)
      scope.after(() => rm(path, { force: true }))
    },

    /** What PHP wrote to its error log. */
    log: async (): Promise<string> => readFile(join(folder, 'php.log'), 'utf8').catch(() => ''),

    /** Runs what is due in WP-Cron, and what is scheduled by the plugin. */
    runCron: () =>
      inWordPress(`define('DOING_CRON', true); require 'wp-load.php';
        foreach (_get_cron_array() as $time => $hooks) foreach ($hooks['headland_cron'] ?? [] as $event) {
          wp_unschedule_event($time, 'headland_cron', $event['args']); do_action('headland_cron');
        }`),
  }
}

/** A text as PHP writes it. */
export const phpText = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

async function startDatabase(t: Scope, folder: string, socket: string) {
  const data = join(folder, 'db')
  await mkdir(data)
  const user = process.getuid?.() === 0 ? ['--user=root'] : []
  await promisify(execFile)(
    'mariadb-install-db',
    ['--no-defaults', `--datadir=${data}`, ...user, '--auth-root-authentication-method=normal', '--skip-test-db'],
    { timeout: TIMEOUT_MS },
  )
  const log = openSync(join(folder, 'db.log'), 'a')
  const server = spawn(
    'mariadbd',
    [
      ...['--no-defaults', `--datadir=${data}`, ...user, `--socket=${socket}`, '--skip-networking'],
      ...[`--pid-file=${join(folder, 'db.pid')}`, '--skip-log-bin', '--performance-schema=OFF'],
      // Its data need not survive a crash of the machine.
      ...['--innodb-buffer-pool-size=64M', '--innodb-flush-log-at-trx-commit=0'],
    ],
    { stdio: ['ignore', log, log], env: { PATH: `${process.env.PATH}:/usr/sbin:/usr/bin` } },
  )
  t.after(() => end(server))
  const sql = `CREATE DATABASE wp; CREATE USER wp@localhost IDENTIFIED BY 'wp'; GRANT ALL ON wp.* TO wp@localhost`
  await until(async () => {
    assert.equal(server.exitCode, null, `the database ended: ${readFileSync(join(folder, 'db.log'), 'utf8')}`)
    return promisify(execFile)('mariadb', ['--no-defaults', '-uroot', '-S', socket, '-e', sql]).catch(() => undefined)
  }, 'the database')
}

type Layout = { url: string; socket: string; readPath: string }

async function layOut(folder: string, site: string, { url, socket, readPath }: Layout) {
  await promisify(execFile)('cp', ['-rL', '--preserve=timestamps', SOURCE, site])
  await mkdir(join(folder, 'compiled'))
  for (const name of ['.htaccess', 'wp-config.php']) await rm(join(site, name), { force: true })
  for (const name of ['mu-plugins', 'uploads', 'plugins'])
    await mkdir(join(site, 'wp-content', name), { recursive: true })
  await cp(PLUGIN, join(site, 'wp-content/plugins/headland'), { recursive: true })
  await writeFile(join(site, 'wp-config.php'), configOf(url, socket, join(folder, 'constants.json')))
  await writeFile(join(folder, 'router.php'), routerOf(readPath))
}

const configOf = (url: string, socket: string, constants: string): string => `<?php
foreach (json_decode(file_get_contents('${constants}'), true) as $name => $value) define($name, $value);
define('DB_NAME', 'wp'); define('DB_USER', 'wp'); define('DB_PASSWORD', 'wp'); define('DB_HOST', 'localhost:${socket}');
define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $key) {
  define($key . '_KEY', 'test-' . $key); define($key . '_SALT', 'salt-' . $key);
}
define('WP_HOME', '${url}'); define('WP_SITEURL', '${url}');
define('WP_ENVIRONMENT_TYPE', 'local'); // application passwords over plain HTTP
define('WP_DEBUG', true); define('WP_DEBUG_DISPLAY', false); define('WP_DEBUG_LOG', false);
define('AUTOMATIC_UPDATER_DISABLED', true); define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true); define('WP_ACCESSIBLE_HOSTS', '127.0.0.1,*.invalid');
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
`

/** Serves files directly, and everything else through WordPress; at a path that only this test knows, the PHP that it sends. */
const routerOf = (readPath: string): string => `<?php
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
if ($path === '${readPath}') {
  $_SERVER['REQUEST_METHOD'] = 'GET';
  $_SERVER['REQUEST_URI'] = '/';
  chdir(__DIR__ . '/site');
  require __DIR__ . '/site/wp-load.php';
  eval(file_get_contents('php://input'));
  return true;
}
$file = __DIR__ . '/site' . $path;
if ($path !== '/' && (is_file($file) || (is_dir($file) && is_file(rtrim($file, '/') . '/index.php')))) return false;
$_SERVER['SCRIPT_NAME'] = '/index.php';
chdir(__DIR__ . '/site');
require __DIR__ . '/site/index.php';
`

/** Installs it, activates the plugin as an administrator does, and prints a password for the REST API. */
const INSTALL = `
define('WP_INSTALLING', true);
require 'wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
add_filter('pre_wp_mail', '__return_true');
wp_install('Test', '${ADMIN.name}', 'admin@example.test', true, '', '${ADMIN.password}');
update_option('permalink_structure', '/%postname%/');
$GLOBALS['wp_rewrite']->init();
flush_rewrite_rules(false);
require_once ABSPATH . 'wp-admin/includes/plugin.php';
$failed = activate_plugin('headland/headland.php');
if (is_wp_error($failed)) { fwrite(STDERR, $failed->get_error_message()); exit(1); }
[$password] = WP_Application_Passwords::create_new_application_password(1, ['name' => 'test']);
echo $password;
`

type Place = { address: string; port: number; url: string }

async function startPhp(t: Scope, folder: string, site: string, { address, port, url }: Place) {
  const log = openSync(join(folder, 'access.log'), 'a')
  const errors = `error_log=${join(folder, 'php.log')}`
  // Several workers: WordPress calls itself.
  const server = spawn('php', ['-d', errors, '-S', `${address}:${port}`, '-t', site, join(folder, 'router.php')], {
    stdio: ['ignore', log, log],
    env: { PATH: process.env.PATH, PHP_CLI_SERVER_WORKERS: '6' },
  })
  t.after(async () => {
    const workers = childrenOf(server.pid as number)
    await end(server)
    for (const pid of workers) killIfThere(pid)
  })
  await until(async () => {
    assert.equal(server.exitCode, null, `PHP ended: ${readFileSync(join(folder, 'access.log'), 'utf8')}`)
    return fetch(`${url}/wp-json/wp/v2/posts`)
      .then(({ ok }) => ok)
      .catch(() => false)
  }, 'WordPress')
}

async function logIn(url: string): Promise<string> {
  const response = await fetch(`${url}/wp-login.php`, {
    method: 'POST',
    headers: { cookie: 'wordpress_test_cookie=WP%20Cookie%20check' },
    body: new URLSearchParams({ log: ADMIN.name, pwd: ADMIN.password, testcookie: '1' }),
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  assert.equal(response.status, 302, await response.text())
  return response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ')
}

async function freePort(address: string): Promise<number> {
  const server = createServer().listen({ host: address, port: 0 })
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** The workers of PHP's server outlive it. */
function childrenOf(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]) === parent
    } catch (error) {
      if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
      throw error
    }
  })
}

async function end(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
