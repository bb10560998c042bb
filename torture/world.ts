/**
 * The servers that builds call, at an address that they may reach: a CMS, and a registry with one package. Each
 * answers, hangs, fails or refuses, according to its mood.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Scope, temporaryFolder } from '../test/support/folder.ts'
import { addAddress } from '../test/support/service/wordpress.ts'

export type Mood = 'answers' | 'hangs' | 'fails' | 'refuses'

export type World = {
  cms: string
  registry: string
  /** The networks that the service must allow builds to reach. */
  allowed: string
  setMood(of: 'cms' | 'registry', mood: Mood): void
}

export async function startWorld(t: Scope): Promise<World> {
  const address = await addAddress(t)
  const tarball = await packPackage(t)
  const moods: Record<'cms' | 'registry', Mood> = { cms: 'answers', registry: 'answers' }
  const hanging = new Set<ServerResponse>()
  let saves = 0

  function answer(request: IncomingMessage, response: ServerResponse) {
    const of = request.url?.startsWith('/registry/') ? 'registry' : 'cms'
    const mood = moods[of]
    if (mood === 'refuses') return request.socket.destroy()
    if (mood === 'hangs') return hanging.add(response)
    if (mood === 'fails') return response.writeHead(500).end('a fault')
    if (of === 'cms') return response.end(`save ${++saves}`)
    if (request.url?.endsWith('.tgz')) return response.end(tarball)
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify(packument(`http://${request.headers.host}/registry/`, tarball)))
  }
  const server = createServer(answer)
  server.listen(0, address)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as { port: number }
  const origin = `http://${address}:${port}`
  return {
    cms: `${origin}/cms`,
    registry: `${origin}/registry/`,
    allowed: `${address}:${port}`,
    setMood(of, mood) {
      moods[of] = mood
      if (mood === 'hangs') return
      for (const response of hanging) response.destroy()
      hanging.clear()
    },
  }
}

const PACKAGE = { name: 'torture-package', version: '1.0.0', main: 'index.js' }

async function packPackage(t: Scope): Promise<Buffer> {
  const folder = await temporaryFolder(t)
  await mkdir(join(folder, 'package'))
  await writeFile(join(folder, 'package/package.json'), JSON.stringify(PACKAGE))
  await writeFile(join(folder, 'package/index.js'), `module.exports = 'a package'\n`)
  const file = join(folder, 'package.tgz')
  await promisify(execFile)('tar', ['-czf', file, '-C', folder, 'package'])
  return readFile(file)
}

const packument = (registry: string, tarball: Buffer) => ({
  name: PACKAGE.name,
  'dist-tags': { latest: PACKAGE.version },
  versions: {
    [PACKAGE.version]: {
      ...PACKAGE,
      dist: {
        tarball: `${registry}${PACKAGE.name}/-/${PACKAGE.name}-${PACKAGE.version}.tgz`,
        integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
      },
    },
  },
})
