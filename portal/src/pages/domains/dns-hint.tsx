/** The DNS records that a name needs to lead here. */
import type { DnsRecord } from '../../api/types.ts'
import { CopyText } from '../../components/controls/copy.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import css from './page.module.css'
import { isLocalName } from './site-address.ts'

type RecordRow = { use: string; type: string; value: string; isKnown: boolean }

type Props = {
  url: string
  /** A domain for the examples. */
  domain?: string | undefined
  /** The public addresses of the service; undefined while they are being fetched. */
  records: readonly DnsRecord[] | undefined
}

export function DnsHint({ url, domain = 'www.example.com', records }: Props) {
  if (url === '' || !records) return null
  const names = records.filter(({ type }) => type === 'CNAME')
  const addresses = records.filter(({ type }) => type !== 'CNAME')
  const entries: RecordRow[] = [
    ...names.map(({ type, value }) => ({ use: domain, type, value, isKnown: true })),
    ...addresses.map(({ type, value }) => ({
      use: names.length > 0 ? 'Instead, for the top of a zone as example.com' : domain,
      type,
      value,
      isKnown: true,
    })),
    ...(addresses.length === 0
      ? [{ ...UNKNOWN, use: names.length > 0 ? 'The top of a zone, as example.com' : domain }]
      : []),
  ]
  const columns: Column<RecordRow>[] = [
    { head: 'Name', cell: ({ use }) => <span className={css.use}>{use}</span> },
    { head: 'Type', cell: ({ type }) => type },
    {
      head: 'Value',
      grow: true,
      cell: ({ value, isKnown }) => (isKnown ? <CopyText text={value} what="the value" /> : value),
    },
  ]
  return (
    <>
      <Panel title="Entries in DNS" flush>
        <Table
          label="Entries in DNS"
          columns={columns}
          items={entries}
          keyOf={({ type, value }) => `${type} ${value}`}
        />
      </Panel>
      <div className={css.hint}>
        {addresses.length === 0 && (
          <p>
            This service does not know its own public addresses, so it cannot check whether a name leads here. The
            operator can set them: <code>publicAddresses</code>.
          </p>
        )}
        {isLocalName(new URL(url).hostname) && (
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

const UNKNOWN = { type: 'A or AAAA', value: 'the public addresses of this service', isKnown: false }
