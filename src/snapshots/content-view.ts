/**
 * What the programs of one build get from the named hosts: the real answers, which are recorded, or those of an earlier build.
 * A job of the service stands between them and the hosts, in a sandbox of its own inside of the build's network, so that the
 * rules of builds hold for it, and what a tenant or a CMS sends reaches no other process of the service.
 */
import { chmod, copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LIMITS } from '../contract/index.ts'
import type { Engine, Job, Mount, NetworkNamespace } from '../engines/index.ts'
import { createMessages, type Outage } from './messages.ts'

export const SNAPSHOT_LIMITS = {
  answers: LIMITS.contentSnapshotAnswers,
  bodyBytes: LIMITS.contentSnapshotBodyBytes,
  totalBytes: LIMITS.contentSnapshotBytes,
  /** Of all answers that are on their way at a time. */
  bufferedBytes: 96 * 1024 ** 2,
  /** With the line of each answer. */
  fileBytes: LIMITS.contentSnapshotBytes + LIMITS.contentSnapshotAnswers * 24 * 1024,
} as const

const JOB_LIMITS = {
  memoryBytes: 512 * 1024 ** 2,
  processes: 64,
  cpuWeight: 100,
  openFiles: 8192,
  fileBytes: SNAPSHOT_LIMITS.fileBytes,
  diskBytes: null,
  diskFiles: null,
}
const WAITS = { connectMs: 10_000, headMs: 60_000, idleMs: 60_000, retryMs: 1000 }
const READY_MS = 30_000
const STOP_MS = 5000

/** Programs of the service that run inside the sandbox. */
const PROGRAMS = fileURLToPath(new URL('./inside', import.meta.url))
/** Of these, the one that makes certificates: it imports nothing of the service. */
export const CERTIFICATE_PROGRAM = fileURLToPath(new URL('./inside/certificates.mjs', import.meta.url))
const INSIDE = {
  node: '/headland/node',
  programs: '/headland/content',
  recorded: '/headland/content-recorded',
  earlier: '/headland/content-earlier',
  certificates: '/headland/content-certificates',
} as const

/** Ends a build that will be run again from a snapshot. */
export class OutageFound extends Error {
  readonly outage: Outage
  constructor(outage: Outage) {
    super(`${outage.host} ${outage.why}`)
    this.outage = outage
  }
}

export type ContentOptions = {
  /** As `cms.example.com` or `cms.example.com:8443`. */
  hosts: readonly string[]
  /** For keyed digests of requests. */
  secret: string
  /** The folder with what an earlier build recorded. */
  earlier: string | undefined
  /** Answers come from the earlier build alone. */
  replays: boolean
  /** The build is ended at an outage. */
  endsAtOutage: boolean
}

/** Where the job is to run. */
export type ContentPlace = {
  engine: Engine
  network: NetworkNamespace
  user: Job['user']
  workspace: {
    source: string
    makeFolder(...names: string[]): Promise<string>
    makeServiceFolder(name: string): Promise<string>
  }
  /** The folder of the app, as the build sees it, and where the source is mounted. */
  cwd: string
  mountedAt: string
  /** The value of NODE_EXTRA_CA_CERTS that the tenant has set. */
  extraCertificates: string | undefined
  /** A file of the machine that older versions of Node read in place of its store. */
  machineCertificates: string | undefined
}

/** What a build adds to its programs' environment, and the signal that it is to end. */
export type BegunContent = {
  environment: Record<string, string>
  mounts: Mount[]
  signal: AbortSignal
  end(): Promise<void>
}

export type Recorded = { folder: string; answers: number; bytes: number }

export function createContentView({ hosts, secret, earlier, replays, endsAtOutage }: ContentOptions) {
  const parsed = hosts.map((text) => {
    const [name = '', port] = text.split(':')
    return { name, port: port === undefined ? undefined : Number(port) }
  })
  const names = [...new Set(parsed.map(({ name }) => name))]
  const ports = [...new Set([80, 443, ...parsed.flatMap(({ port }) => port ?? [])])]
  let outage: Outage | undefined
  let miss: { method: string; url: string } | undefined
  let recorded: Recorded | undefined
  let incomplete: string | undefined

  return {
    /** The host that failed, if one did. */
    outage: () => outage,
    /** A request that the snapshot has no answer to. */
    miss: () => miss,
    /** What the last run recorded; undefined if it is not complete. */
    recorded: () => (incomplete === undefined ? recorded : undefined),
    /** Why it is not, for people. */
    incomplete: () => incomplete,
    /** Throws where the output must not be kept: it lacks content, or has that of two times. */
    check() {
      if (outage && endsAtOutage) throw new OutageFound(outage)
      if (miss && replays) throw new Error(`the snapshot has no answer to ${miss.url}`)
    },

    /** From here on the names lead to the job. */
    async begin(place: ContentPlace): Promise<BegunContent> {
      const { engine, network, user, workspace } = place
      ;[outage, miss, recorded, incomplete] = [undefined, undefined, undefined, undefined]
      const folder = await workspace.makeFolder('content')
      const certificates = await workspace.makeServiceFolder('content-certificates')
      const { address, suffix } = await network.redirect(names)
      const interrupted = new AbortController()
      const messages = createMessages({
        onOutage(found) {
          outage ??= found
          if (endsAtOutage) interrupted.abort(new OutageFound(outage))
        },
        onMiss(found) {
          miss ??= found
        },
        onIncomplete(why) {
          incomplete ??= why
        },
      })
      const folders = { recorded: INSIDE.recorded, ...(earlier ? { earlier: INSIDE.earlier } : {}) }
      const limits = SNAPSHOT_LIMITS
      const given = { hosts: names, ports, address, suffix, secret, replays, holds: endsAtOutage, limits, waits: WAITS }
      const running = await engine.start(
        {
          name: 'content',
          argv: [INSIDE.node, '--no-warnings', `${INSIDE.programs}/proxy.mjs`],
          cwd: place.cwd,
          environment: {
            PATH: '/usr/bin:/bin',
            NODE_USE_SYSTEM_CA: '1',
            ...(place.extraCertificates ? { NODE_EXTRA_CA_CERTS: place.extraCertificates } : {}),
            HEADLAND_CONTENT: JSON.stringify({ ...given, folders }),
          },
          mounts: [
            { from: workspace.source, to: place.mountedAt, isWritable: false },
            { from: await copyPrograms(workspace), to: INSIDE.programs, isWritable: false },
            { from: folder, to: INSIDE.recorded, isWritable: true },
            ...(earlier ? [{ from: earlier, to: INSIDE.earlier, isWritable: false }] : []),
          ],
          user,
          limits: JOB_LIMITS,
          network,
        },
        (stream, chunk) => (stream === 'stdout' ? messages.take(chunk) : undefined),
      )
      const exited = running.exited.then(() => messages.over())
      const timer = setTimeout(() => messages.over(), READY_MS)
      const ready = await messages.ready.finally(() => clearTimeout(timer))
      if (!ready) {
        await running.stop(0)
        throw new Error('the program that records content did not start')
      }
      const files = await writeCertificates(certificates, ready, place.machineCertificates).catch(async (error) => {
        await running.stop(0)
        throw error
      })

      return {
        environment: {
          NODE_EXTRA_CA_CERTS: `${INSIDE.certificates}/extra.pem`,
          ...(files.hasAll ? { SSL_CERT_FILE: `${INSIDE.certificates}/all.pem` } : {}),
        },
        mounts: [{ from: certificates, to: INSIDE.certificates, isWritable: false }],
        signal: interrupted.signal,
        async end() {
          const { code } = await running.stop(STOP_MS)
          await exited
          const counted = messages.counted()
          if (replays) return
          if (code === 0 && counted) recorded = { folder, ...counted }
          else incomplete ??= 'the program that records ended early'
        },
      }
    },
  }
}

export type ContentView = ReturnType<typeof createContentView>

/** The user of the build may not be allowed to read the files of the service, so it reads copies. */
async function copyPrograms(workspace: ContentPlace['workspace']): Promise<string> {
  const folder = await workspace.makeServiceFolder('content-programs')
  for (const name of await readdir(PROGRAMS)) {
    await copyFile(join(PROGRAMS, name), join(folder, name))
    await chmod(join(folder, name), 0o644)
  }
  return folder
}

const MACHINE_FILES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** One file for Node, which adds it to what it trusts, and one for tools of OpenSSL, for which it is all that they trust. */
async function writeCertificates(
  folder: string,
  { ca, extra }: { ca: string; extra: readonly string[] },
  machineFile: string | undefined,
): Promise<{ hasAll: boolean }> {
  const read = (file: string | undefined) => (file ? readFile(file, 'utf8').catch(() => '') : '')
  let all = ''
  for (const file of MACHINE_FILES) all ||= await read(file)
  const added = [ca, ...extra].map((pem) => `${pem.trim()}\n`).join('')
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    await chmod(join(folder, name), 0o644)
  }
  await write('extra.pem', `${added}${await read(machineFile)}`)
  if (all !== '') await write('all.pem', `${all}\n${added}`)
  return { hasAll: all !== '' }
}
