import { attachmentContract } from '../../testing/attachment-contract.ts'
import { openDatabase } from '../../testing/message-desk.ts'

attachmentContract('SQLite', openDatabase)
