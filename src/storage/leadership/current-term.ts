/** The term of this process, for work that goes on in every process and does more in the leader. */
import type { Transaction } from '../sql/sql.ts'
import { LeadershipLost } from './election.ts'
import type { Term } from './leadership.ts'

export function createCurrentTerm() {
  let term: Term | undefined

  return {
    /** Undefined while another process leads, or may lead. */
    get: (): Term | undefined => (term?.isOver() ? undefined : term),
    begin(next: Term) {
      term = next
    },
    end() {
      term = undefined
    },
    /** Throws LeadershipLost unless this process leads until the transaction is over. */
    async check(tx: Transaction) {
      if (!term) throw new LeadershipLost()
      await term.check(tx)
    },
  }
}

export type CurrentTerm = ReturnType<typeof createCurrentTerm>
