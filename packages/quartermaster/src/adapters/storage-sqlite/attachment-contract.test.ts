import { attachmentContract } from '../../testing/attachment-contract.ts'
import { openDatabase } from '../../testing/message-fixture.ts'

attachmentContract('SQLite', openDatabase)
