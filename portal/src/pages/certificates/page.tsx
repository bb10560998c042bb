/** The certificates of an account: those that the service gets for its names, and uploaded ones. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction, useList } from '../../api/data.ts'
import type { Certificate } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import { More } from '../../components/controls/more.tsx'
import { Pill } from '../../components/facts/pill.tsx'
import { Time } from '../../components/facts/time.tsx'
import { Empty } from '../../components/feedback/empty.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { SkeletonRows } from '../../components/feedback/skeleton.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { Page } from '../../components/layout/page.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import { type Column, Table } from '../../components/layout/table.tsx'
import type { AccountPageProps } from '../../page-props.ts'
import { useSession } from '../../session/session.tsx'
import css from './page.module.css'
import { Upload } from './upload.tsx'
import { canRetry, sourceWords, stateWords, whyWords } from './words.ts'

export default function CertificatesPage(_: AccountPageProps) {
  const { account, canWrite } = useSession()
  const certificates = useList<Certificate>(`accounts/${account}/certificates`, 'certificates')
  const [isUploading, setUploading] = useState(false)
  const say = useToast()
  const confirm = useConfirm()
  const { items, problem } = certificates

  const retry = useAction(
    async ({ name, names }: Certificate) => {
      await call(`/v1/${name}:retry`, { method: 'POST' })
      say(`The certificate for ${names.join(', ')} is tried again.`)
    },
    { refreshes: [`accounts/${account}/certificates`] },
  )

  const remove = ({ name, names, usedFor }: Certificate) =>
    confirm({
      title: `Delete the certificate for ${names.join(', ')}?`,
      stops: [
        usedFor.length > 0
          ? `${usedFor.join(', ')} must get another certificate from the service before visitors can use https again.`
          : 'It is not used now.',
        'Its key is deleted with it.',
      ],
      label: 'Delete certificate',
      async run() {
        await call(`/v1/${name}`, { method: 'DELETE' })
        certificates.refresh()
        say(`The certificate for ${names.join(', ')} is deleted.`)
      },
    })

  const columns: Column<Certificate>[] = [
    { head: 'Names', cell: (certificate) => <Names {...certificate} /> },
    { head: 'State', grow: true, cell: (certificate) => <State certificate={certificate} /> },
    {
      head: 'Next attempt',
      cell: ({ nextAttemptTime }) => (nextAttemptTime ? <Time at={nextAttemptTime} /> : ''),
    },
    ...(canWrite
      ? [
          {
            head: 'Actions',
            quiet: true,
            cell: (certificate: Certificate) =>
              certificate.source === 'UPLOADED' ? (
                <Button small aria-label={`Delete ${certificate.names.join(', ')}`} onClick={() => remove(certificate)}>
                  Delete
                </Button>
              ) : (
                canRetry(certificate) && (
                  <Button
                    small
                    busy={retry.isBusy}
                    aria-label={`Try ${certificate.names.join(', ')} again`}
                    onClick={() => retry.run(certificate)}
                  >
                    Try again
                  </Button>
                )
              ),
          },
        ]
      : []),
  ]

  const upload = (
    <Button kind="primary" icon="plus" onClick={() => setUploading(true)}>
      Upload certificate
    </Button>
  )

  return (
    <Page title="Certificates" actions={canWrite && items?.length !== 0 && upload}>
      <p className={css.hint}>
        For https. The service gets one for each domain that leads here, and renews it.{' '}
        <a href="/docs/guides/https">Guide</a>
      </p>
      <ProblemNote problem={retry.problem} />
      <ProblemNote problem={problem} onRetry={certificates.refresh} />
      {items?.length === 0 && (
        <Empty title="No certificates yet" action={canWrite && upload}>
          If the operator has turned it on, each domain gets a certificate by itself when it leads here. You can upload
          certificates of your own, too.
        </Empty>
      )}
      {(items ? items.length > 0 : !problem) && (
        <Panel flush>
          {items ? (
            <Table label="Certificates" columns={columns} items={items} keyOf={({ name }) => name} />
          ) : (
            <SkeletonRows count={3} />
          )}
        </Panel>
      )}
      <More of={certificates}>Show more</More>
      {isUploading && <Upload account={account} onClose={() => setUploading(false)} />}
    </Page>
  )
}

function Names({ names, source, issuer, ...certificate }: Certificate) {
  return (
    <span className={css.names}>
      {names.map((name) => (
        <span key={name}>{name}</span>
      ))}
      <span className={css.detail}>
        {sourceWords({ names, source, ...(issuer ? { issuer } : {}), ...certificate })}
      </span>
    </span>
  )
}

function State({ certificate }: { certificate: Certificate }) {
  const { tone, word, detail } = stateWords(certificate)
  const why = whyWords(certificate)
  return (
    <span className={css.state}>
      <Pill tone={tone}>{word}</Pill>
      {detail && <span className={css.detail}>{detail}</span>}
      {why && <span>{why.what}</span>}
      {why?.action && <span className={css.detail}>{why.action}</span>}
    </span>
  )
}
