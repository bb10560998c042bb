/** The rules that the node had last, in a file: after a start of the machine they are there before apps are, and before any control process. */
import { open, readFile, rename } from 'node:fs/promises'
import { type Isolation, isolationRules } from '../../swarm/index.ts'
import type { NodeRules } from '../messages.ts'

/** No one reaches apps, and apps reach the internet alone: until a control process has told the rules for the first time. */
const CLOSED: Isolation = { edges: [], blocked: [], allowed: [], resolvers: [] }

export async function readSavedRules(path: string): Promise<NodeRules> {
  try {
    const { revision, isolation } = JSON.parse(await readFile(path, 'utf8')) as NodeRules
    isolationRules(isolation)
    return { revision: Number(revision), isolation }
  } catch {
    // There is none, or one that was damaged with its disk.
    return { revision: 0, isolation: CLOSED }
  }
}

export async function saveRules(path: string, rules: NodeRules) {
  const draft = `${path}.new`
  const file = await open(draft, 'w', 0o600)
  try {
    await file.writeFile(JSON.stringify(rules))
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
}
