/**
 * Files of earlier deployments that pages in browsers may still load: which deployments they are of, the index by which
 * the edge finds them, and how long they stay. In the folder of an environment are
 *
 *   DEPLOYMENT.json      the list of a deployment's immutable files, which outlives its output
 *   DIGEST, DIGEST.br …  the files, as links to those of outputs
 *   HASH.index           the index that the edge uses; the hash is that of everything it is made from
 *   HASH.index.files     which files the index needs
 *
 * An index never changes, so the edge may keep it open: another one has another name. All that is here can be made
 * again while the outputs are there, and losing it costs only pages that are still open.
 */
import { randomUUID } from 'node:crypto'
import { copyFile, link, lstat, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environments } from '../apps/index.ts'
import { absent, type Clock, createTurns, type Log } from '../base/index.ts'
import type { BuildOutput, Outputs, Size } from '../builds/index.ts'
import { earlierFilesNameOf, IMMUTABLE_LIST_NAME, makeEarlierIndex } from '../edge/index.ts'
import type { Digest, Sql } from '../storage/index.ts'
import { indexNameOf } from './earlier-index-name.ts'
import type { Folders } from './folders.ts'
import type { Deployments } from './records/deployments.ts'
import type { Routing } from './routing.ts'

/** Deployments of an environment whose files are served, beside the live one. */
const MAX_DEPLOYMENTS = 100

type Parts = {
  sql: Sql
  clock: Clock
  log: Log
  environments: Pick<Environments, 'byId'>
  deployments: Pick<Deployments, 'earlierOf' | 'outputsOf' | 'earlierIndexesOf' | 'setEarlierIndex' | 'withdrawEarlier'>
  outputs: Pick<Outputs, 'filesOf' | 'edgeFolderOf'>
  folders: Pick<Folders, 'earlier'>
  routing: Pick<Routing, 'touch' | 'publish'>
  /** How long files stay after their deployment was replaced; 0: none are served. */
  keepMs: number
  /** Edges of other machines learn from the routes which deployments they serve files of. */
  hasEdgesElsewhere?: boolean
}

export function createEarlierFiles(parts: Parts) {
  const {
    sql,
    clock,
    log,
    environments,
    deployments,
    outputs,
    folders,
    routing,
    keepMs,
    hasEdgesElsewhere = false,
  } = parts
  const inTurn = createTurns()

  /** The deployments whose files are served while another one is live. `last` was live until now. */
  async function earlierTo(environmentId: string, live: string, last: string | null): Promise<string[]> {
    if (keepMs === 0) return []
    const found = await deployments.earlierOf(environmentId, { after: clock.now() - keepMs, limit: MAX_DEPLOYMENTS })
    return [...new Set([...(last === null ? [] : [last]), ...found])].filter((id) => id !== live)
  }

  /** Makes the index of these deployments' files for a live one. Null where no file is left. */
  async function makeIndex(environmentId: string, live: string, earlier: readonly string[]): Promise<string | null> {
    if (earlier.length === 0) return null
    const folder = folders.earlier(environmentId)
    const made = await deployments.outputsOf([live, ...earlier])
    const liveOutput = made.get(live)
    const liveList = liveOutput && (await listOfLive(liveOutput))
    if (!liveOutput || liveList === undefined) return null
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const there = new Set(await readdir(folder))
    const sources = []
    for (const id of earlier) {
      const output = made.get(id)?.output
      const list = join(folder, listNameOf(id))
      if (!there.has(listNameOf(id)) && !(output && (await keepList(output, list)))) continue
      sources.push({ id, list, output: output ? { files: outputs.filesOf(output), edge: edgeFolder(output) } : null })
    }
    if (sources.length === 0) return null
    const name = indexNameOf([liveOutput.output, ...sources.map(({ id }) => id)])
    if (there.has(name)) return name
    return (await makeEarlierIndex({ folder, name, live: liveList, earlier: sources })) ? name : null
  }

  /**
   * Null for a static site without any such file, which is asked for each file before the index. Undefined for a server
   * whose files are not known: it might have a file of the same name, so none of an earlier deployment is served.
   */
  async function listOfLive({ output, kind }: BuildOutput): Promise<string | null | undefined> {
    const list = join(edgeFolder(output), IMMUTABLE_LIST_NAME)
    if (await exists(list)) return list
    return kind === 'static' ? null : undefined
  }

  const edgeFolder = (output: Digest): string => outputs.edgeFolderOf(output)

  /** False if there is no list: the output is of an earlier version of the service, or of no known framework. */
  async function keepList(output: Digest, to: string): Promise<boolean> {
    const from = join(edgeFolder(output), IMMUTABLE_LIST_NAME)
    if (!(await exists(from))) return false
    const draft = `${to}.${randomUUID()}.new`
    // Where links are not possible, a copy is.
    await link(from, draft).catch(() => copyFile(from, draft))
    await rename(draft, to)
    return true
  }

  /** Pages that are open lose their files, and nothing else: a deployment does not fail for that. */
  async function tryIndex(environmentId: string, live: string, earlier: readonly string[]): Promise<string | null> {
    try {
      return await makeIndex(environmentId, live, earlier)
    } catch (error) {
      log.error({ err: error, environment: environmentId }, 'files of earlier deployments could not be kept')
      return null
    }
  }

  /** Resolves when all edges use the index. A deployment that is not live any more has no use for it. */
  async function use(environmentId: string, live: string, index: string | null) {
    await sql.transaction(async (tx) => {
      if ((await environments.byId(tx, environmentId))?.liveDeployment !== live) return
      await deployments.setEarlierIndex(tx, live, index)
      await routing.touch(tx, environmentId)
    })
    await routing.publish()
  }

  /** Another machine has its files, and makes its index. */
  async function isElsewhere(live: string): Promise<boolean> {
    const output = (await deployments.outputsOf([live])).get(live)?.output
    return output !== undefined && !(await exists(outputs.filesOf(output)))
  }

  /** Removes what the index does not need. */
  async function sweep(environmentId: string, index: string | null, earlier: readonly string[]) {
    const folder = folders.earlier(environmentId)
    const there = (await readdir(folder).catch(absent)) ?? []
    const needed = new Set<string>(earlier.map(listNameOf))
    if (index !== null) {
      const files = earlierFilesNameOf(index)
      for (const name of [index, files, ...(await namesIn(join(folder, files)))]) needed.add(name)
    }
    for (const name of there) if (!needed.has(name)) await rm(join(folder, name), { force: true })
  }

  return {
    /**
     * Makes the index for a deployment that is about to be live, and runs the switch with it. Without `keepsEarlier`,
     * files of deployments before it are not served from the switch on.
     */
    async switchWith<T>(
      { environmentId, live, last }: { environmentId: string; live: string; last: string | null },
      { keepsEarlier }: { keepsEarlier: boolean },
      run: (index: string | null) => Promise<T>,
    ): Promise<T> {
      return inTurn(environmentId, async () => {
        const earlier = keepsEarlier ? await earlierTo(environmentId, live, last) : []
        return run(await tryIndex(environmentId, live, earlier))
      })
    },

    /** After a switch, and from time to time: files whose time is over are not served any more, and removed. */
    async tend(environmentId: string): Promise<void> {
      await inTurn(environmentId, async () => {
        const live = (await environments.byId(sql, environmentId))?.liveDeployment ?? null
        if (live === null) return sweep(environmentId, null, [])
        if (await isElsewhere(live)) return
        const earlier = await earlierTo(environmentId, live, null)
        const index = await makeIndex(environmentId, live, earlier)
        const before = (await deployments.earlierIndexesOf([live])).get(live) ?? null
        // Most of the time nothing has changed, and the write lock is not needed.
        if (before !== index) await use(environmentId, live, index)
        await sweep(environmentId, index, earlier)
      })
    },

    /** Files of earlier deployments are not served any more, from now on. */
    async withdraw(environmentId: string): Promise<void> {
      await sql.transaction(async (tx) => {
        await deployments.withdrawEarlier(tx, environmentId)
        if (hasEdgesElsewhere) await routing.touch(tx, environmentId)
      })
      if (hasEdgesElsewhere) await routing.publish()
      await this.tend(environmentId)
    },
  }
}

export type EarlierFiles = ReturnType<typeof createEarlierFiles>

const listNameOf = (deployment: string): string => `${deployment}.json`

/** The space that only these files take: those that an output has too are counted with it. */
export async function earlierFilesSize(folder: string): Promise<Size> {
  const size = { files: 0, bytes: 0 }
  for (const name of (await readdir(folder).catch(absent)) ?? []) {
    const found = await lstat(join(folder, name)).catch(absent)
    if (!found?.isFile() || found.nlink > 1) continue
    size.files += 1
    size.bytes += found.size
  }
  return size
}

async function namesIn(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(absent)
  return text === undefined ? [] : JSON.parse(text)
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(absent)) !== undefined
}
