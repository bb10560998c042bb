/**
 * Answers `git fetch` and `git push` with Debian's `git http-backend`. For each request the repository is laid into a folder of
 * its own, where git works in the sandbox; what it changes there is thrown away. A push is recorded by its hook, or not at all.
 */
import { createWriteStream } from 'node:fs'
import { chmod, chown } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Blobs } from '../storage/index.ts'
import { type CgiHead, createCgiHead } from './cgi.ts'
import type { Git } from './git.ts'
import { type Decide, HOOKS, openHook } from './hook.ts'
import { failed } from './jobs.ts'
import { createParts } from './parts.ts'
import type { Pack, Repositories, Repository } from './records.ts'
import { stageRepository } from './stage.ts'
import { type GitFolder, INSIDE } from './work-folders.ts'

export const SERVICES = ['git-upload-pack', 'git-receive-pack'] as const
export type Service = (typeof SERVICES)[number]

export type RemoteCall = {
  appId: string
  service: Service
  /** Undefined for the list of refs, with which every fetch and push begins. */
  body?: AsyncIterable<Buffer> | undefined
  /** The header Git-Protocol. */
  protocol: string
  /** Who asks, for git's own environment. */
  caller: string
  signal: AbortSignal
  /** For a push: decides with the repository as it was laid out. */
  decide?: (staged: Staged) => Decide
}

export type Staged = { folder: GitFolder; repository: Repository }

export type RemoteAnswer = { head: CgiHead; body: Readable }

/** Of a job that waits for builds; a build has limits of its own. */
const PUSH_TIMEOUT_MS = 3 * 60 * 60_000

type Parts = {
  git: Git
  repositories: Repositories
  blobs: Pick<Blobs, 'withFile' | 'put'>
  /** The folder in which folders of hooks are made. */
  folder: string
  maxPackBytes: number
}

export function createRemote({ git, repositories, blobs, folder: parent, maxPackBytes }: Parts) {
  /** Resolves when the answer begins. Its body is to be read to its end, or destroyed. */
  async function serve(call: RemoteCall): Promise<RemoteAnswer> {
    const stack = new AsyncDisposableStack()
    try {
      const folder = await git.folders.make()
      stack.defer(() => folder.remove())
      const request = call.body && (await keepBody(folder, call.body))
      const repository = await repositories.read(call.appId)
      await stageRepository(blobs, folder, repository)
      const decide = call.decide?.({ folder, repository })
      const hook = decide && (await openHook(parent, decide))
      if (hook) stack.defer(() => hook.close())
      return await answer(call, { folder, request, mounts: hook ? [hook.mount] : [], stack: stack.move() })
    } catch (error) {
      await stack.disposeAsync()
      throw error
    }
  }

  type Laid = { folder: GitFolder; request: Request | undefined; mounts: RemoteMounts; stack: AsyncDisposableStack }

  async function answer(call: RemoteCall, { folder, request, mounts, stack }: Laid): Promise<RemoteAnswer> {
    const begun = Promise.withResolvers<CgiHead>()
    const body = new PassThrough({ highWaterMark: 1024 * 1024 })
    const left = new AbortController()
    body.once('close', () => left.abort())
    body.on('error', () => undefined)
    const reader = createCgiHead()
    let isBegun = false
    const write = (chunk: Buffer) => {
      if (body.destroyed || body.write(chunk)) return undefined
      return new Promise<void>((resolve) => {
        body.once('drain', resolve)
        body.once('close', resolve)
      })
    }
    const options = [`core.hooksPath=${HOOKS}`, `receive.maxInputSize=${maxPackBytes}`]
    const args = options.flatMap((option) => ['-c', option])
    const input = request ? `${INSIDE.folder}/${request.name}` : '/dev/null'
    git.jobs
      .run(
        {
          folder,
          script: 'serve',
          args: [INSIDE.folder, HOOKS, input, ...args],
          environment: environmentOf(call, request, git.jobs.engine.isIsolating),
          mounts,
          signal: AbortSignal.any([call.signal, left.signal]),
          timeoutMs: PUSH_TIMEOUT_MS,
        },
        (chunk) => {
          if (isBegun) return write(chunk)
          const found = reader.take(chunk)
          if (!found) return undefined
          isBegun = true
          begun.resolve(found.head)
          return write(found.rest)
        },
      )
      .then(({ errors }) => {
        if (!isBegun) throw failed(errors)
        body.end()
      })
      .catch((error) => {
        begun.reject(error)
        body.destroy(error)
      })
      .finally(() => stack.disposeAsync())
      .catch(() => undefined)
    return { head: await begun.promise, body }
  }

  /** The objects that a push brought, as blobs; undefined where it brought none. */
  async function keepPack(
    { folder }: Staged,
    quarantine: string,
    signal: AbortSignal,
  ): Promise<Omit<Pack, 'id'> | undefined> {
    if (quarantine === '') return undefined
    return storePack(folder, `${INSIDE.repository}/objects/${quarantine}/pack`, signal)
  }

  /** The one pack of a folder. It is read by a job: the folder belongs to the job's user. */
  async function storePack(folder: GitFolder, at: string, signal: AbortSignal) {
    const parts = createParts(git.jobs.stream({ folder, script: 'pack', args: [at], isReading: true, signal }))
    try {
      const line = await parts.line()
      if (line === undefined) return undefined
      const [, name, size] = /^pack-([0-9a-f]{40}|[0-9a-f]{64})\.pack (\d{1,15})$/.exec(line) ?? []
      if (name === undefined) throw failed('it left a pack with a name that git does not give')
      const pack = await blobs.put(parts.next(Number(size)))
      const index = await blobs.put(parts.rest())
      return { name, pack: pack.digest, index: index.digest, bytes: pack.bytes + index.bytes }
    } finally {
      await parts.close()
    }
  }

  /** All objects that refs lead to, in one pack; what no ref leads to goes. Nothing is done where something was pushed meanwhile. */
  async function repack(at: { appId: string; accountId: string }, signal: AbortSignal) {
    const folder = await git.folders.make()
    try {
      const repository = await repositories.read(at.appId)
      await stageRepository(blobs, folder, repository)
      await git.jobs.read({ folder, script: 'repack', args: [INSIDE.repository], signal }, 10_000)
      const pack = await storePack(folder, `${INSIDE.repository}/kept`, signal)
      return pack !== undefined && (await repositories.replacePacks(at, repository, pack))
    } finally {
      await folder.remove()
    }
  }

  return { serve, keepPack, repack }
}

export type Remote = ReturnType<typeof createRemote>

type RemoteMounts = readonly { from: string; to: string; isWritable: boolean }[]

type Request = { name: string; bytes: number }

/** The body as a file that the job reads; it is whole before git begins. */
async function keepBody({ path, user }: GitFolder, body: AsyncIterable<Buffer>): Promise<Request> {
  const file = join(path, 'request')
  const target = createWriteStream(file, { flags: 'wx', mode: 0o600 })
  await pipeline(Readable.from(body, { objectMode: false }), target)
  await chmod(file, 0o400)
  if (user) await chown(file, user.uid, user.gid)
  return { name: 'request', bytes: target.bytesWritten }
}

/** Node as jobs see it. */
const NODE = '/headland/node'

/** The variables of CGI/1.1 that git reads, and what the hook needs. */
const environmentOf = (
  { service, protocol, caller }: RemoteCall,
  request: Request | undefined,
  isIsolating: boolean,
): Record<string, string> => ({
  GIT_HTTP_EXPORT_ALL: '1',
  REMOTE_USER: caller,
  REMOTE_ADDR: '127.0.0.1',
  ...(/^[A-Za-z0-9=:._-]{1,200}$/.test(protocol) ? { GIT_PROTOCOL: protocol } : {}),
  HEADLAND_NODE: isIsolating ? NODE : process.execPath,
  ...(request
    ? {
        REQUEST_METHOD: 'POST',
        PATH_INFO: `/repo.git/${service}`,
        CONTENT_TYPE: `application/x-${service}-request`,
        CONTENT_LENGTH: String(request.bytes),
      }
    : { REQUEST_METHOD: 'GET', PATH_INFO: '/repo.git/info/refs', QUERY_STRING: `service=${service}` }),
})
