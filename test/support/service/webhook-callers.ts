/**
 * Programs that call webhooks, each with the request it sends. The request of WordPress was recorded; the others are built
 * from what is known of them: protocol version, method, content type, body, signature. Where the user agent of a program is
 * not known, it is made up.
 */
import { targetOf, tokenOf } from './webhooks.ts'

export type Caller = { caller: string; userAgent?: string; request: string }

export const lengthOf = (body: string): string => `Content-Length: ${Buffer.byteLength(body)}`

export const JSON_TYPE = 'Content-Type: application/json'
export const ENTRY = JSON.stringify({ id: 7, title: 'Straße', content: '<p>é</p>' })

const requestOf = (line: string, headers: readonly string[], body = ''): string =>
  `${line}\r\n${headers.join('\r\n')}\r\n\r\n${body}`

const GARBAGE = '{"\0\u{1F4A9}'

const WORDPRESS = 'WordPress/6.1.9; https://editor.example'

/** The requests that all callers send to this URL of this host. */
export function callersOf(url: string, host: string) {
  const requests = requestsTo(url, host)
  const { byWordpress, fromBrowser } = requests
  const callers: Caller[] = [...wordpressCallers(requests), ...cmsCallers(requests), ...unusualCallers(requests)]
  return { callers, byWordpress, fromBrowser }
}

type Requests = ReturnType<typeof requestsTo>

function requestsTo(url: string, host: string) {
  const target = targetOf(url)

  /** What PHP's cURL sends for WordPress' HTTP API, here 6.1.9: the Referer is the webhook's own URL, with the token. */
  const byWordpress = (more: readonly string[], body = '', line = `POST ${target} HTTP/1.1`): string =>
    requestOf(
      line,
      [
        `Host: ${host}`,
        `User-Agent: ${WORDPRESS}`,
        'Accept: */*',
        'Accept-Encoding: deflate, gzip, br, zstd',
        `Referer: ${url}`,
        'Connection: close',
        lengthOf(body),
        ...more,
      ],
      body,
    )

  const fromBrowser = (more: readonly string[] = []): string =>
    requestOf(`POST ${target} HTTP/1.1`, [
      `Host: ${host}`,
      'Connection: keep-alive',
      'Content-Length: 0',
      'sec-ch-ua-platform: "Linux"',
      'User-Agent: Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0',
      'Accept: application/json, text/javascript, */*; q=0.01',
      'Origin: https://editor.example',
      'Sec-Fetch-Site: cross-site',
      'Sec-Fetch-Mode: cors',
      'Sec-Fetch-Dest: empty',
      'Referer: https://editor.example/',
      'Accept-Encoding: gzip, deflate, br, zstd',
      'Accept-Language: en-GB,en;q=0.9',
      ...more,
    ])

  const fromServer = (userAgent: string, headers: readonly string[], body: string): string =>
    requestOf(
      `POST ${target} HTTP/1.1`,
      [`Host: ${host}`, `User-Agent: ${userAgent}`, ...headers, lengthOf(body)],
      body,
    )

  return { url, host, target, byWordpress, fromBrowser, fromServer }
}

function wordpressCallers({ host, target, byWordpress }: Requests): Caller[] {
  return [
    {
      caller: 'WordPress core 6.1.9, which sends no body as a form and our URL as its referrer',
      userAgent: WORDPRESS,
      request: byWordpress(['Content-Type: application/x-www-form-urlencoded']),
    },
    {
      caller: 'wpgraphql-webhooks, which sends JSON',
      userAgent: WORDPRESS,
      request: byWordpress([JSON_TYPE], ENTRY),
    },
    {
      caller: 'wpgraphql-webhooks with a payload in the query, beside our token',
      userAgent: WORDPRESS,
      request: byWordpress([JSON_TYPE], '', `POST ${target}&event=post_publish&key=list%3Apost HTTP/1.1`),
    },
    {
      caller: 'WP Webhooks, which sends JSON with a charset and a signature over HTTP/1.0',
      userAgent: WORDPRESS,
      request: byWordpress(
        ['Content-Type: application/json; charset=UTF-8', 'X-WP-Webhook-Signature: 0C9nHgO2hBVJ1cUQ+Kw1p2a8='],
        ENTRY,
        `POST ${target} HTTP/1.0`,
      ),
    },
    {
      caller: 'WP Webhooks, which sends a form',
      userAgent: WORDPRESS,
      request: byWordpress(
        ['Content-Type: application/x-www-form-urlencoded; charset=UTF-8'],
        'post_id=7&post%5Bpost_title%5D=x%00',
        `POST ${target} HTTP/1.0`,
      ),
    },
    {
      caller: 'WP Webhooks, which sends XML',
      userAgent: WORDPRESS,
      request: byWordpress(
        ['Content-Type: application/xml; charset=UTF-8'],
        '<?xml version="1.0"?><data><post_id>7</post_id></data>',
        `POST ${target} HTTP/1.0`,
      ),
    },
    {
      caller: 'WooCommerce, with its headers and its signature over HTTP/1.0',
      userAgent: 'WooCommerce/9.4.2 Hookshot (WordPress/6.1.9)',
      request: requestOf(
        `POST ${target} HTTP/1.0`,
        [
          `Host: ${host}`,
          'User-Agent: WooCommerce/9.4.2 Hookshot (WordPress/6.1.9)',
          JSON_TYPE,
          'X-WC-Webhook-Source: https://shop.example/',
          'X-WC-Webhook-Topic: product.updated',
          'X-WC-Webhook-Resource: product',
          'X-WC-Webhook-Event: updated',
          'X-WC-Webhook-Signature: q7HbA0d7Wl4k1Vt1bG4xq3mQm1m2wQYw3kqVbq8m0lM=',
          'X-WC-Webhook-ID: 3',
          'X-WC-Webhook-Delivery-ID: 7f1c6a',
          'Connection: close',
          lengthOf(ENTRY),
        ],
        ENTRY,
      ),
    },
    {
      caller: 'WooCommerce, which tries a new webhook with a form',
      userAgent: 'WooCommerce/9.4.2 Hookshot (WordPress/6.1.9)',
      request: requestOf(
        `POST ${target} HTTP/1.0`,
        [
          `Host: ${host}`,
          'User-Agent: WooCommerce/9.4.2 Hookshot (WordPress/6.1.9)',
          'Content-Type: application/x-www-form-urlencoded',
          'Connection: close',
          lengthOf('webhook_id=3'),
        ],
        'webhook_id=3',
      ),
    },
  ]
}

function cmsCallers({ fromServer }: Requests): Caller[] {
  return [
    {
      caller: 'Contentful, whose JSON has a type of its own',
      userAgent: 'Contentful Webhooks',
      request: fromServer(
        'Contentful Webhooks',
        [
          'X-Contentful-Topic: ContentManagement.Entry.publish',
          'X-Contentful-Webhook-Name: Headland',
          'Content-Type: application/vnd.contentful.management.v1+json',
          'X-Contentful-Signature: 9c1185a5c5e9fc54612808977ee8f548b2258d31',
          'X-Contentful-Timestamp: 1794743997868',
        ],
        ENTRY,
      ),
    },
    {
      caller: 'Strapi, which sends JSON by fetch',
      userAgent: 'node',
      request: fromServer(
        'node',
        [
          'connection: keep-alive',
          'content-type: application/json',
          'x-strapi-event: entry.publish',
          'accept: */*',
          'accept-language: *',
          'sec-fetch-mode: cors',
          'accept-encoding: gzip, deflate',
        ],
        ENTRY,
      ),
    },
    {
      caller: 'Sanity, with its signature',
      userAgent: 'Sanity.io webhook delivery',
      request: fromServer(
        'Sanity.io webhook delivery',
        [
          JSON_TYPE,
          'sanity-webhook-signature: t=1794743997868,v1=tLa470fx7qkLLEcMOcEUFuBbRSkGujyskxrNXcoh0N0',
          'idempotency-key: k',
        ],
        ENTRY,
      ),
    },
    {
      caller: 'Storyblok, which wants a JSON type back',
      userAgent: 'Storyblok',
      request: fromServer(
        'Storyblok',
        [JSON_TYPE, 'webhook-signature: 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12'],
        ENTRY,
      ),
    },
    {
      caller: 'Prismic, which counts only 200 as success and has its secret in the body',
      userAgent: 'Prismic',
      request: fromServer(
        'Prismic',
        [JSON_TYPE],
        JSON.stringify({ type: 'api-update', secret: 'theirs', documents: ['X'] }),
      ),
    },
    {
      caller: 'Directus, which sends by axios',
      userAgent: 'axios/1.7.7',
      request: fromServer(
        'axios/1.7.7',
        [
          'Accept: application/json, text/plain, */*',
          JSON_TYPE,
          'Accept-Encoding: gzip, compress, deflate, br',
          'Connection: close',
        ],
        ENTRY,
      ),
    },
    {
      caller: 'Ghost, with the version of its content and its signature',
      userAgent: 'Ghost/5.130.0 (https://github.com/TryGhost/Ghost)',
      request: fromServer(
        'Ghost/5.130.0 (https://github.com/TryGhost/Ghost)',
        [
          JSON_TYPE,
          'Content-Version: v5.130',
          'X-Ghost-Signature: sha256=cf2fbf5d0c6f1b, t=1794743997868',
          'Accept-Encoding: gzip, deflate, br',
        ],
        ENTRY,
      ),
    },
    {
      caller: 'build_hooks of Drupal, which wants 200 or 201',
      userAgent: 'Drupal/10.3.6 (+https://www.drupal.org/) GuzzleHttp/7',
      request: fromServer('Drupal/10.3.6 (+https://www.drupal.org/) GuzzleHttp/7', [], ''),
    },
    {
      caller: 'Contentstack, with its signature',
      userAgent: 'Contentstack',
      request: fromServer('Contentstack', [JSON_TYPE, 'X-Contentstack-Request-Signature: v1=bm90IG91cnM='], ENTRY),
    },
  ]
}

/** Requests that are legal, or nearly so, and that few programs send. */
function unusualCallers({ url, host, target }: Requests): Caller[] {
  return [
    { caller: 'HTTP/1.0 without a host', request: `POST ${target} HTTP/1.0\r\n\r\n` },
    {
      caller: 'HTTP/1.1 with the whole URL in its first line',
      request: `POST ${url} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    },
    {
      caller: 'a body in chunks, with an extension and a trailer',
      request: `POST ${target} HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n{"a\r\n4\r\n":1}\r\n0\r\nX-Sum: 1\r\n\r\n`,
    },
    ...[
      '',
      'Content-Type:\r\n',
      'Content-Type: ;;==\r\n',
      'Content-Type: multipart/form-data\r\n',
      'Content-Type: application/json\r\n',
    ].map((type) => ({
      caller: `a body that is not what its content type says (${type.trim() || 'none'})`,
      request: `POST ${target} HTTP/1.1\r\nHost: ${host}\r\n${type}${lengthOf(GARBAGE)}\r\n\r\n${GARBAGE}`,
    })),
    ...[
      target.replace('webhook:', 'webhook%3A'),
      target.replace('webhook:', 'webhook%3a'),
      target.replace('?', '/?'),
      target.replace('?', '?trigger_title=Save&'),
      `${target}&trigger_branch=main`,
      `${target}&token=another`,
      `${target}?v=s_1794743997868`,
      `${target}#top`,
      target.replace(/apps\/([^/]+)/, (_, app) => `apps/${app.toUpperCase()}`),
    ].map((variant) => ({
      caller: `the address as ${variant
        .replace(tokenOf(url), '…')
        .replace(/^.*(?=\/apps)/, '')
        .replace(/[0-9a-f-]{36}/, '…')}`,
      request: `POST ${variant} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    })),
  ]
}
