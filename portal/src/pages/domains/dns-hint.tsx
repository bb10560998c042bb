/** What has to stand in DNS, so that a name leads here. */
import { CopyText } from '../../parts/copy.tsx'
import { Panel } from '../../parts/panel.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import css from './page.module.css'
import { isLocalName } from './site-address.ts'

type Entry = { use: string; type: string; value: string; isName: boolean }

/** `domain` is one to show it with. */
export function DnsHint({ url, domain = 'www.example.com' }: { url: string; domain?: string | undefined }) {
  if (url === '') return null
  const { hostname } = new URL(url)
  const isLocal = isLocalName(hostname)
  const entries: Entry[] = isLocal
    ? [
        {
          use: domain,
          type: 'A or AAAA',
          value: 'the addresses of the machine that this service runs on',
          isName: false,
        },
      ]
    : [
        { use: domain, type: 'CNAME', value: hostname, isName: true },
        {
          use: 'The top of a zone, as example.com',
          type: 'A or AAAA',
          value: `the addresses that ${hostname} has`,
          isName: false,
        },
      ]
  const columns: Column<Entry>[] = [
    { head: 'Name', grow: true, cell: ({ use }) => use },
    { head: 'Type', cell: ({ type }) => type },
    {
      head: 'Value',
      cell: ({ value, isName }) => (
        <span className={css.value}>{isName ? <CopyText text={value} what="the value" /> : value}</span>
      ),
    },
  ]
  return (
    <>
      <Panel title="Entries in DNS" flush>
        <Table label="Entries in DNS" columns={columns} items={entries} keyOf={({ type }) => type} />
      </Panel>
      <div className={css.hint}>
        {isLocal && (
          <p>
            Names under <code>localhost</code> lead every visitor to their own machine, so no CNAME can point at one.
          </p>
        )}
        <p>
          For https, the proxy in front of this service needs a certificate for the name. It can ask{' '}
          <code>/v1/domains:allowed</code> which names are right.
        </p>
      </div>
    </>
  )
}
