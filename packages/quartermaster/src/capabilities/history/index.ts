import { defineCapability, defineModule } from '../../core/catalogue/index.ts'
import { createChatHistory } from './chat-history.ts'

/** What an agent and others have said to each other before. */
export default defineModule({
  needs: ['history'],
  create({ history }) {
    return defineCapability({
      key: 'history',
      title: 'History',
      short: 'Read what was said before with one peer.',
      inward: true,
      tools: [createChatHistory(history)],
    })
  },
})
