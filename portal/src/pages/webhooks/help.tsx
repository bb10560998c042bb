/** How to use the URLs. */
import { at, headland } from '../../api/headland.ts'
import type { Place } from '../../api/names.ts'
import { ExternalLink } from '../../components/controls/button.tsx'
import { CopyButton } from '../../components/controls/copy.tsx'
import { Panel } from '../../components/layout/panel.tsx'
import css from './page.module.css'

const CURL = 'curl -fsS -X POST "$WEBHOOK_URL"'
const CRON = `WEBHOOK_URL=the URL for Rebuild\n0 3 * * *  curl -fsS -X POST "$WEBHOOK_URL"`

export function Help({ place }: { place: Place }) {
  return (
    <Panel title="How to call them">
      <div className={css.help}>
        <h3>WordPress</h3>
        <ol className={css.steps}>
          <li>
            Install the Headland plugin: the folder <code>integrations/wordpress/headland</code> of the source, zipped,
            under Plugins → Add New.
          </li>
          <li>
            Under Settings → Headland, paste the URL: Rebuild for a static site, Purge cache for one that a server
            renders.
          </li>
          <li>Publish something: the call appears here, and the dashboard of WordPress shows the result.</li>
        </ol>
        <p className={css.quiet}>
          Any other plugin or CMS that calls a URL by POST works, too. Whatever it sends along is ignored.{' '}
          <ExternalLink href="/docs/guides/wordpress">WordPress, step by step</ExternalLink>
        </p>
      </div>
      <div className={css.help}>
        <h3>A terminal</h3>
        <Line text={headland(['rebuild'], at(place))} what="the command" />
        <Line text={CURL} what="the call" />
      </div>
      <div className={css.help}>
        <h3>A cron job, every night at three</h3>
        <Line text={CRON} what="the line for cron" />
      </div>
    </Panel>
  )
}

function Line({ text, what }: { text: string; what: string }) {
  return (
    <div className={css.line}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1) */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} what={what} />
    </div>
  )
}
