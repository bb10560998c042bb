/** An account without apps: an example that is live after one press, or an app of one's own. */
import { headland } from '../../../api/headland.ts'
import { Button, ButtonLink } from '../../../components/controls/button.tsx'
import { Empty } from '../../../components/feedback/empty.tsx'
import { newAppPath } from '../../../paths.ts'
import css from './no-apps.module.css'
import type { ExampleDeploy } from './use-example.ts'

type Props = { account: string; canWrite: boolean; example: ExampleDeploy }

export function NoApps({ account, canWrite, example }: Props) {
  if (!canWrite) return <Empty title="No app yet">{WHAT_AN_APP_IS}</Empty>
  return (
    <Empty
      title="No app yet"
      action={
        <>
          <Button kind="primary" icon="upload" busy={example.step !== undefined} onClick={example.start}>
            Deploy an example
          </Button>
          <ButtonLink icon="plus" href={newAppPath(account)}>
            Create the first app
          </ButtonLink>
          <span role="status" className={css.step}>
            {example.step && `${example.step}…`}
          </span>
        </>
      }
      curl={{
        command: headland(['apps', 'create', 'my-app'], { account, region: 'EU-W' }),
        method: 'POST',
        path: `/v1/accounts/${account}/apps?appId=my-app`,
        body: { region: 'regions/EU-W', uploadable: {} },
      }}
    >
      <p>{WHAT_AN_APP_IS}</p>
      <p className={css.example}>
        The example is a site of two pages that comes with Headland. One press makes an app for it, builds it before
        your eyes, and puts it live. Delete the app, and all of it is gone.
      </p>
    </Empty>
  )
}

const WHAT_AN_APP_IS =
  'An app is a name and a region. It holds environments, such as production and staging, and each of them serves one version of your site.'
