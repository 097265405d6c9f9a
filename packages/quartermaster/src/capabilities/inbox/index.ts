import { defineCapability, defineModule } from '../../core/catalogue/index.ts'
import { createAttacher } from '../shared/attachments.ts'
import { createReadAttachment } from './read-attachment.ts'
import { createInboxPeek, createInboxPop, createWaitForMessage } from './receive.ts'
import { createBroadcastMessage, createReply } from './reply.ts'

/** Messages that persons and other agents send to an agent. */
export default defineModule({
  needs: ['inbox', 'paths', 'attachments'],
  create({ inbox, paths, attachments }) {
    const attach = createAttacher({ paths, attachments })
    return defineCapability({
      key: 'inbox',
      title: 'Inbox',
      short: 'Wait for messages of people and other agents, read and answer them.',
      inward: true,
      tools: [
        createWaitForMessage(inbox),
        createInboxPeek(inbox),
        createInboxPop(inbox),
        createReply(inbox, attach),
        createReadAttachment(attachments),
        createBroadcastMessage(inbox),
      ],
    })
  },
})
