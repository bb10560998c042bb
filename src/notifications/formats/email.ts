/** An e-mail: plain text, in which nothing is a link that does not show where it leads. */
import type { Message } from './message.ts'

export const toEmail = ({ account, title, text, link }: Message) => ({
  subject: `[Headland] ${title}`,
  text: [
    title,
    ...(text === '' ? [] : ['', text]),
    ...(link === null ? [] : ['', link]),
    '',
    '-- ',
    `You get this as this address is a notification target of the account ${account}.`,
    '',
  ].join('\n'),
})
