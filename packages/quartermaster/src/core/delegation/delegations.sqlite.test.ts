import { delegationContract } from '../../testing/delegation-contract.ts'
import { openDatabase } from '../../testing/message-fixture.ts'

delegationContract('SQLite', openDatabase)
