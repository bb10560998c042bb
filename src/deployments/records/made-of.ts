/** What deployments are made of: which output, and whether it is files or a server. Asked for many at a time. */
import type { Plan } from '../../builds/index.ts'
import { type Digest, list, type Reader, statement } from '../../storage/index.ts'

export type MadeOf = { output: Digest; kind: Plan['output']['kind'] }

/** A statement has a limit of values. */
const AT_A_TIME = 500

/** By the id of the deployment. One that is gone meanwhile is not among them. */
export async function readMadeOf(reader: Reader, deployments: readonly string[]): Promise<Map<string, MadeOf>> {
  const found = new Map<string, MadeOf>()
  for (let from = 0; from < deployments.length; from += AT_A_TIME) {
    const rows = await reader.query<{ id: string; plan: string; output_digest: Digest }>(statement`
      SELECT d.id, b.plan, b.output_digest FROM deployments d JOIN builds b ON b.id = d.build_id
      WHERE d.id IN (${list(deployments.slice(from, from + AT_A_TIME))})`)
    for (const { id, plan, output_digest } of rows) {
      found.set(id, { output: output_digest, kind: (JSON.parse(plan) as Plan).output.kind })
    }
  }
  return found
}
