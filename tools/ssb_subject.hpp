// ssb_subject.hpp: what `holdfast ssb run --compare` measures beside the star: other engines, and
// the published design as the star of rows.
//
// Threads  One at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <holdfast/base/result.hpp>
#include <holdfast/memory/region.hpp>
#include <holdfast/olap/query.hpp>
#include <holdfast/olap/star_store.hpp>
#include <holdfast/peers/peer_process.hpp>

#include "ssb_engine.hpp"
#include "ssb_run.hpp"

namespace holdfast::tools {

class SsbSubject {
 public:
  struct Asked {
    double seconds = 0;
    olap::ResultTable table;  // A peer's has no header.
  };

  explicit SsbSubject(std::string name) : name_(std::move(name)) {}
  virtual ~SsbSubject() = default;
  SsbSubject(const SsbSubject&) = delete;
  SsbSubject& operator=(const SsbSubject&) = delete;

  const std::string& name() const { return name_; }
  virtual std::string version() const = 0;
  virtual std::string configuration() const = 0;
  virtual Result<Asked> ask(const olap::StarQuery& query) = 0;

 private:
  std::string name_;
};

// Another engine, in a Python process of its own that has loaded the .tbl files (ssb_peers.py).
class SsbPeer : public SsbSubject {
 public:
  struct Start {
    std::string python;
    std::string tables, order;  // A directory; "loaded" or "date".
    unsigned threads;
    std::string scratch;  // A directory of its own.
  };
  // Returns when the tables are loaded. Errors: those of PeerProcess::start.
  static Result<std::unique_ptr<SsbSubject>> start(const std::string& name, const Start& how);

  std::string version() const override { return process_->version(); }
  std::string configuration() const override { return process_->configuration(); }
  // Errors: kIo.
  Result<Asked> ask(const olap::StarQuery& query) override;

 private:
  explicit SsbPeer(std::unique_ptr<bench::PeerProcess> process)
      : SsbSubject(process->name()), process_(std::move(process)) {}

  std::unique_ptr<bench::PeerProcess> process_;
};

// The same tables as a star of rows in DRAM, asked by joins on Dash.
class SsbRowBaseline : public SsbSubject {
 public:
  static Result<std::unique_ptr<SsbSubject>> load(const SsbArguments& arguments, olap::Team& team);

  std::string version() const override { return "128-byte rows"; }
  std::string configuration() const override { return "in DRAM, Dash joins"; }
  Result<Asked> ask(const olap::StarQuery& query) override;

 private:
  SsbRowBaseline(OpenStar star, SsbEngine engine, olap::Team& team)
      : SsbSubject("row"), star_(std::move(star)), engine_(std::move(engine)), team_(team) {}

  OpenStar star_;
  SsbEngine engine_;
  olap::Team& team_;
};

}  // namespace holdfast::tools
