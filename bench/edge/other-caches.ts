/**
 * Other shared caches, each in front of one origin, on free ports of loopback, in a folder of its own. Each is
 * configured as the public cache suite does for its own results, which is close to the defaults of its package.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort, type Running, startProgram, versionOf } from '../program.ts'
import { startNginx } from './nginx.ts'

export type Origin = { host: string; port: number }

export type Peer = { name: string; start(folder: string, origin: Origin): Promise<Running>; version(): Promise<string> }

export const nginx: Peer = {
  name: 'nginx',
  version: () => versionOf('nginx', '-v'),
  start(folder, { host, port }) {
    const cached = `proxy_pass http://${host}:${port}; proxy_cache objects; proxy_cache_revalidate on;`
    return startNginx({ folder, servers: { cached: `location / { ${cached} }` } })
  },
}

export const varnish: Peer = {
  name: 'Varnish',
  version: () => versionOf('varnishd', '-V'),
  async start(folder, { host, port: originPort }) {
    const port = await freePort()
    const lifetimes = ['default_ttl=0', 'default_grace=0', 'default_keep=3600'].flatMap((value) => ['-p', value])
    const addresses = ['-a', `127.0.0.1:${port}`, '-b', `${host}:${originPort}`]
    const args = ['-F', '-n', join(folder, 'work'), '-j', 'none', ...addresses, ...lifetimes, '-s', 'malloc,64M']
    // It compiles its configuration.
    return startProgram({ command: 'varnishd', args, debianPackages: 'varnish gcc libc6-dev', port })
  },
}

const squid: Peer = {
  name: 'Squid',
  version: () => versionOf('squid', '-v'),
  async start(folder, { host, port: originPort }) {
    const port = await freePort()
    const lines = [
      `http_port 127.0.0.1:${port} accel defaultsite=${host} no-vhost`,
      `cache_peer ${host} parent ${originPort} 0 no-query no-digest originserver default name=origin`,
      'cache_peer_access origin allow all',
      'http_access allow all',
      'connect_retries 3',
      'shutdown_lifetime 1 second',
      // The default of its package.
      'refresh_pattern -i (/cgi-bin/|\\?) 0 0% 0',
      'refresh_pattern . 0 20% 4320',
      ...['pid_filename none', 'access_log none', 'cache_log /dev/null', 'pinger_enable off', `coredump_dir ${folder}`],
    ]
    const file = join(folder, 'squid.conf')
    await writeFile(file, `${lines.join('\n')}\n`)
    return startProgram({ command: 'squid', args: ['-N', '-f', file], debianPackages: 'squid', port })
  },
}

const trafficServer: Peer = {
  name: 'Traffic Server',
  version: () => versionOf('traffic_server', '--version'),
  async start(folder, { host, port: originPort }) {
    const port = await freePort()
    const places = { sysconfdir: 'etc', runtimedir: 'run', localstatedir: 'run', logdir: 'log', cachedir: 'cache' }
    for (const place of new Set(Object.values(places))) await mkdir(join(folder, place))
    const write = (name: string, text: string) => writeFile(join(folder, name), `${text}\n`)
    await write('etc/remap.config', `map / http://${host}:${originPort}/`)
    await write('etc/storage.config', `${folder}/cache 64M`)
    await write('etc/ip_allow.yaml', 'ip_allow: [{ apply: in, ip_addrs: 127.0.0.1, action: allow, methods: ALL }]')
    const rows = Object.entries({ ...places, prefix: '.', exec_prefix: '.' })
    await write('runroot.yaml', rows.map(([place, name]) => `${place}: ${join(folder, name)}`).join('\n'))
    return startProgram({
      command: 'traffic_server',
      args: [`--run-root=${folder}/runroot.yaml`],
      debianPackages: 'trafficserver',
      port,
      env: {
        PROXY_CONFIG_HTTP_SERVER_PORTS: `${port}:ip-in=127.0.0.1`,
        // Started by a user other than root, it runs as that user.
        PROXY_CONFIG_ADMIN_USER_ID: '#-1',
        PROXY_CONFIG_LOG_LOGGING_ENABLED: '0',
        PROXY_CONFIG_CRASH_LOG_HELPER: 'NULL',
      },
    })
  },
}

export const PEERS: readonly Peer[] = [nginx, varnish, squid, trafficServer]
