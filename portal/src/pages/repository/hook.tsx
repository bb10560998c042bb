/** The address that the provider calls after a push, and the secret, which is shown once. */
import type { Repository } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { CopyButton } from '../../components/controls/copy.tsx'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import css from './page.module.css'
import { HOOK_STEPS } from './words.ts'

type Props = {
  repository: Repository
  /** Undefined unless it was just made. */
  secret: string | undefined
  canWrite: boolean
  onRegenerate(): void
}

export function Hook({ repository, secret, canWrite, onRegenerate }: Props) {
  const { provider, hookUrl } = repository
  if (!provider) return null
  return (
    <Panel
      title="Deploy after each push"
      actions={
        canWrite && (
          <Button small onClick={onRegenerate}>
            New secret
          </Button>
        )
      }
    >
      <div className={css.stack}>
        <p className={css.hint}>{HOOK_STEPS[provider]}</p>
        <Facts>
          <Fact name="URL">
            <span className={css.value}>
              <code>{hookUrl}</code>
              <CopyButton text={hookUrl} what="the URL of the hook" />
            </span>
          </Fact>
          <Fact name="Secret">
            {secret === undefined ? (
              'Was shown when it was made'
            ) : (
              <span className={css.value}>
                <code>{secret}</code>
                <CopyButton text={secret} what="the secret of the hook" />
              </span>
            )}
          </Fact>
        </Facts>
        {secret !== undefined && <p role="status">Copy the secret now: it is not shown again.</p>}
      </div>
    </Panel>
  )
}
