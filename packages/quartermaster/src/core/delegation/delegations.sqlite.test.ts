import { delegationContract } from '../../testing/delegation-contract.ts'
import { openDatabase } from '../../testing/message-desk.ts'

delegationContract('SQLite', openDatabase)
