/** The environments with the largest disk usage, each with links to its usage and to its deletion. */
import { Link } from 'wouter'
import { type Place, partsOf, placeOf } from '../../api/names.ts'
import type { AccountUsage } from '../../api/types.ts'
import { ButtonLink } from '../../components/controls/button.tsx'
import { bytes } from '../../components/facts/format.ts'
import { type Column, Table } from '../../components/layout/table.tsx'
import { environmentPath } from '../../paths.ts'
import { useSession } from '../../session/session.tsx'
import css from './largest.module.css'

type Held = AccountUsage['environments'][number]

const placeOfHeld = ({ environment: name }: Held): Place => {
  const { account, app, environment } = partsOf(name)
  return placeOf(account, app, environment)
}

export function LargestEnvironments({ environments }: { environments: readonly Held[] }) {
  const { canWrite } = useSession()
  const columns: Column<Held>[] = [
    { head: 'Environment', grow: true, cell: (held) => <Name held={held} /> },
    { head: 'Takes', align: 'right', cell: (held) => <span className={css.size}>{bytes(held.bytes)}</span> },
    ...(canWrite
      ? [
          {
            head: 'Actions',
            quiet: true,
            cell: (held: Held) => (
              <ButtonLink small href={environmentPath(placeOfHeld(held), 'settings')}>
                Settings
              </ButtonLink>
            ),
          },
        ]
      : []),
  ]
  return (
    <>
      <Table
        label="Largest environments"
        columns={columns}
        items={environments}
        keyOf={({ environment }) => environment}
      />
      <p className={css.note}>What several of them share is counted with each of them here, and once above.</p>
    </>
  )
}

function Name({ held }: { held: Held }) {
  const place = placeOfHeld(held)
  return (
    <span className={css.name}>
      <span className={css.app}>{place.app}</span>
      <Link href={environmentPath(place, 'usage')}>{held.displayName}</Link>
    </span>
  )
}
