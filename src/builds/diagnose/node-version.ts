/** The chosen version of Node.js is too old or too new for the app or one of its packages. */
import { quote } from './lines.ts'
import { EVERY_PHASE, type Rule, search, span } from './rule.ts'

/** With the wanted version, where the message has it. */
const WRONG = [
  /The engine "node" is incompatible with this module\. Expected version "([^"]{1,100})"/,
  /For Next\.js, Node\.js version "([^"]{1,100})" is required/,
  /\bVite requires Node\.js version ([^"]{1,60}?)\. Please/,
  /\bNode\.js v?[\d.]{1,20} is not supported by (?:Astro|Nuxt)/,
  /\bGatsby requires Node\.js ([^ ]{1,20})/,
  /\bAngular CLI requires a minimum Node\.js version of (.{1,60}?)\.?$/,
  /\bThis version of pnpm requires at least Node\.js (v?[\d.]{1,20})/,
  /npm (?:error|ERR!) code EBADENGINE/,
  /ERR_PNPM_UNSUPPORTED_ENGINE/,
  /\bdoes not support Node\.js v?[\d.]{1,20}/,
]
const WANTED = [
  /npm (?:error|ERR!) notsup Required: {1,4}\{.{0,40}"node":"([^"]{1,100})"/,
  /\bupgrade Node\.js to a supported version: "([^"]{1,100})"/,
  /^Expected version: ([^ ]{1,60})/,
]
/** Code that does not work with OpenSSL 3, most often webpack 4. */
const TOO_NEW = /digital envelope routines::unsupported|ERR_OSSL_EVP_UNSUPPORTED/

export const nodeVersionWrong: Rule = {
  phases: EVERY_PHASE,
  find({ lines }) {
    const hits = search(lines, ...WRONG)
    const [first] = hits
    if (first) {
      const wanted = quote(hits.find(({ match }) => match[1])?.match[1] ?? search(lines, ...WANTED)[0]?.match[1] ?? '')
      const what = wanted ? `Node.js ${wanted} is needed` : 'Another version of Node.js is needed'
      return {
        reason: 'NODE_VERSION_WRONG',
        message: `${what}, and this build has another one. Say which in \`engines.node\` of package.json or in .nvmrc.`,
        ...span(hits),
        metadata: wanted ? { wanted } : {},
      }
    }
    const tooNew = search(lines, TOO_NEW)
    if (tooNew.length === 0) return undefined
    return {
      reason: 'NODE_VERSION_WRONG',
      message:
        'This Node.js is too new for a package of the app (OpenSSL 3: most often webpack 4). Update the package, or set NODE_OPTIONS=--openssl-legacy-provider in the shell variables.',
      ...span(tooNew),
    }
  },
}
