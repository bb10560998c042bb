export { createDeliveries } from './deliver.ts'
export type { MailServer } from './senders/mail.ts'
export { createSend } from './senders/send.ts'
export { createNotificationTargets, type NotificationTargets } from './targets.ts'
