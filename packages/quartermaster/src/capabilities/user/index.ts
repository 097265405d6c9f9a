import { defineCapability, defineModule } from '../../core/catalogue/index.ts'
import { createAttacher } from '../shared/attachments.ts'
import { createSendMessageToUser } from './send-message-to-user.ts'

/** The people who see what an agent says in the chat of its workspace. */
export default defineModule({
  needs: ['people', 'paths', 'attachments'],
  create({ people, paths, attachments }) {
    const attach = createAttacher({ paths, attachments })
    return defineCapability({
      key: 'user',
      title: 'People',
      short: 'Write to the people who see your chat, with files.',
      inward: true,
      tools: [createSendMessageToUser({ people, attach })],
    })
  },
})
