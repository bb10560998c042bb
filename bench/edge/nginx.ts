/**
 * nginx with one worker, since the edge is one process too, in a folder of its own. It writes nothing but its cache.
 */
import { writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { commandOf, treePids } from '../cpu.ts'
import { freePort, type Running, startProgram } from '../program.ts'

/** The directives of the `server` of each port, by its name in the bench. */
export type Servers<Name extends string> = Record<Name, string>

export type Nginx<Name extends string> = Running & { urls: Record<Name, string>; workerPid: number }

type Parts<Name extends string> = {
  folder: string
  /** Directives of `http`. */
  http?: string
  servers: Servers<Name>
  /** What each `server` listens for beside plain HTTP, as `ssl http2`. */
  listens?: string
}

export async function startNginx<Name extends string>(parts: Parts<Name>): Promise<Nginx<Name>> {
  const { folder, http = '', servers, listens } = parts
  const names = Object.keys(servers) as Name[]
  const ports = await Promise.all(names.map(freePort))
  const blocks = names.map((name, at) => `server { listen 127.0.0.1:${ports[at]} ${listens ?? ''}; ${servers[name]} }`)
  await writeFile(join(folder, 'nginx.conf'), configuration(folder, `${http}\n${blocks.join('\n')}`))
  const running = await startProgram({
    command: 'nginx',
    args: ['-p', folder, '-c', join(folder, 'nginx.conf')],
    debianPackages: 'nginx-light',
    port: ports[0] as number,
  })
  const scheme = listens?.includes('ssl') ? 'https' : 'http'
  const urls = Object.fromEntries(names.map((name, at) => [name, `${scheme}://127.0.0.1:${ports[at]}`]))
  return { ...running, urls: urls as Record<Name, string>, workerPid: workerOf(running.pid) }
}

/** The master only supervises: requests cost the worker's CPU time. */
function workerOf(master: number): number {
  const worker = treePids(master).find((pid) => commandOf(pid).includes('worker process'))
  if (worker === undefined) throw new Error('nginx has no worker')
  return worker
}

const configuration = (folder: string, http: string): string => `
user ${userInfo().username};
worker_processes 1;
daemon off;
pid ${folder}/pid;
error_log ${folder}/error.log;
events { worker_connections 2048; }
http {
  access_log off;
  client_body_temp_path ${folder}/bodies;
  proxy_temp_path ${folder}/temporary;
  fastcgi_temp_path ${folder}/fastcgi;
  scgi_temp_path ${folder}/scgi;
  uwsgi_temp_path ${folder}/uwsgi;
  proxy_cache_path ${folder}/objects levels=1:2 keys_zone=objects:100m max_size=1000m inactive=600m;
  keepalive_requests 1000000;
  ${http}
}
`
